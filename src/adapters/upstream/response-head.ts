import type { Header } from '../../core/call.js'
import type { Fault } from './fault.js'
import { endToEnd, isFieldValue, listOf, parseField } from './fields.js'

/** RFC 9112 §6.3, with every tolerated ambiguity refused: the framing decides what `complete` means. */
export type BodyFraming =
  | { readonly kind: 'content_length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'bodyless' }
  | { readonly kind: 'close' }

export type ResponseHead = {
  readonly status: number
  /** End-to-end fields in received order, names in lower case. */
  readonly headers: readonly Header[]
  readonly framing: BodyFraming
  readonly contentType: string | null
  readonly contentEncoding: string | null
  /** How long the server will keep the connection; 0 when it will not. */
  readonly keepAliveMs: number
}

type StatusLine = { readonly version: '1.0' | '1.1'; readonly status: number }

const MAX_FIELDS = 256

/** `text` is one head as latin1, without the empty line. */
export function parseHead(text: string, method: string): ResponseHead | Fault {
  const lines = text.split('\r\n')
  const statusLine = parseStatusLine(lines[0] as string)
  if (statusLine === null) return 'malformed_status_line'
  if (lines.length - 1 > MAX_FIELDS) return 'head_too_large'
  const { version, status } = statusLine

  const fields: Header[] = []
  let length: string | null = null
  let coding: string | null = null
  let contentType: string | null = null
  let contentEncoding: string | null = null
  let again = false
  for (let i = 1; i < lines.length; i++) {
    const field = parseField(lines[i] as string)
    if (field === null) return 'malformed_header'
    fields.push(field)
    const value = field[1]
    switch (field[0]) {
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

/** `HTTP/1.0` or `HTTP/1.1`, a space, 100 to 599, then nothing or a space and any reason. */
function parseStatusLine(line: string): StatusLine | null {
  const version = line.charCodeAt(7)
  if (!line.startsWith('HTTP/1.') || (version !== 0x30 && version !== 0x31)) return null
  const first = line.charCodeAt(9)
  const second = line.charCodeAt(10)
  const third = line.charCodeAt(11)
  if (line.charCodeAt(8) !== 0x20 || first < 0x31 || first > 0x35) return null
  if (!isDigit(first) || !isDigit(second) || !isDigit(third)) return null
  if (line.length > 12 && (line.charCodeAt(12) !== 0x20 || !isFieldValue(line))) return null
  const status = (first - 0x30) * 100 + (second - 0x30) * 10 + (third - 0x30)
  return { version: version === 0x31 ? '1.1' : '1.0', status }
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
