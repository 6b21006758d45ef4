import type { Header } from '../../core/call/call.js'
import { endOfToken, endOfValue, endToEnd, listOf, trimmed } from '../../core/http/fields.js'
import type { BodyFraming, ResponseHead } from '../../core/http/response.js'
import type { Fault } from './fault.js'

type StatusLine = {
  readonly version: '1.0' | '1.1'
  readonly status: number
  readonly end: number
}

const MAX_FIELDS = 256
const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a

/** `bytes` are one head without the empty line. Octets are looked at, and strings only cut out. */
export function parseHead(bytes: Buffer, method: string): ResponseHead | Fault {
  const statusLine = parseStatusLine(bytes)
  if (statusLine === null) return 'malformed_status_line'
  const { version, status } = statusLine
  const text = bytes.toString('latin1')
  const fields: Header[] = []
  let length: string | null = null
  let coding: string | null = null
  let contentType: string | null = null
  let contentEncoding: string | null = null
  let again = false
  for (let at = statusLine.end; at < bytes.length; ) {
    // A line begins behind a CRLF, wherever the one before it ended.
    const from = bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : -1
    const colon = from === -1 ? -1 : endOfToken(bytes, from, bytes.length)
    if (colon === from || bytes[colon] !== COLON) return refused(text)
    if (fields.length === MAX_FIELDS) return 'head_too_large'
    at = endOfValue(bytes, colon + 1, bytes.length)
    const name = text.slice(from, colon).toLowerCase()
    const value = trimmed(text, colon + 1, at)
    fields.push([name, value])
    switch (name) {
      case 'content-length':
        again ||= length !== null
        length = value
        break
      case 'transfer-encoding':
        coding = joined(coding, value)
        break
      case 'content-type':
        contentType = joined(contentType, value)
        break
      case 'content-encoding':
        contentEncoding = joined(contentEncoding, value)
        break
    }
  }

  const framing = again ? 'conflicting_length' : frame(method, status, version, length, coding)
  if (typeof framing === 'string') return framing
  const connection = listOf(fields, 'connection')
  const persistent = version === '1.1' && framing.kind !== 'close' && !connection.includes('close')
  return {
    status,
    headers: endToEnd(fields, connection),
    framing,
    contentType,
    contentEncoding,
    keepAliveMs: persistent ? keepAlive(listOf(fields, 'keep-alive')) : 0,
  }
}

const joined = (before: string | null, value: string): string =>
  before === null ? value : `${before}, ${value}`

/** Too many lines are too many, whatever is wrong with them. */
const refused = (text: string): Fault =>
  text.split('\r\n').length - 1 > MAX_FIELDS ? 'head_too_large' : 'malformed_header'

export const PREFIX = Buffer.from('HTTP/1.')

/** `HTTP/1.0` or `HTTP/1.1`, a space, 100 to 599, then nothing or a space and any reason. */
function parseStatusLine(bytes: Buffer): StatusLine | null {
  const end = endOfValue(bytes, 0, bytes.length)
  if (end < 12 || (end < bytes.length && !(bytes[end] === CR && bytes[end + 1] === LF))) return null
  for (let i = 0; i < PREFIX.length; i++) if (bytes[i] !== PREFIX[i]) return null
  const version = bytes[7] as number
  const first = bytes[9] as number
  const second = bytes[10] as number
  const third = bytes[11] as number
  if ((version !== 0x30 && version !== 0x31) || bytes[8] !== 0x20) return null
  if (first < 0x31 || first > 0x35 || !isDigit(second) || !isDigit(third)) return null
  if (end > 12 && bytes[12] !== 0x20) return null
  const status = (first - 0x30) * 100 + (second - 0x30) * 10 + (third - 0x30)
  return { version: version === 0x31 ? '1.1' : '1.0', status, end }
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const MAX_LENGTH_DIGITS = 15
function isLength(text: string): boolean {
  if (text === '' || text.length > MAX_LENGTH_DIGITS) return false
  for (let i = 0; i < text.length; i++) if (!isDigit(text.charCodeAt(i))) return false
  return true
}

const CHUNKED: BodyFraming = { kind: 'chunked' }
const BODYLESS: BodyFraming = { kind: 'bodyless' }
const UNTIL_CLOSE: BodyFraming = { kind: 'close' }

function frame(
  method: string,
  status: number,
  version: '1.0' | '1.1',
  length: string | null,
  coding: string | null,
): BodyFraming | Fault {
  if (length !== null && (coding !== null || !isLength(length))) return 'conflicting_length'
  // Two codings are joined by now, and `chunked, chunked` is not `chunked`.
  if (coding !== null && (version === '1.0' || coding.toLowerCase() !== 'chunked')) {
    return 'unknown_transfer_coding'
  }
  // RFC 9112 §6.1 and RFC 9110 §8.6: neither field may announce a body these statuses cannot have.
  if (status < 200 || status === 204) {
    if (coding !== null || (length !== null && Number(length) !== 0)) return 'conflicting_length'
    return BODYLESS
  }
  if (method === 'HEAD' || status === 304) return BODYLESS
  if (coding !== null) return CHUNKED
  if (length !== null) return { kind: 'content_length', length: Number(length) }
  return UNTIL_CLOSE
}

/** Sockets rest for at most 4 s, and stop a second before the server says it hangs up. */
const REST_MS = 4_000
function keepAlive(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const seconds = /^timeout=([0-9]{1,9})$/.exec(parameter)?.[1]
    if (seconds !== undefined) return Math.max(0, Math.min(REST_MS, (Number(seconds) - 1) * 1000))
  }
  return REST_MS
}
