import type { Header } from '../../core/call.js'
import type { Fault } from './fault.js'
import { endToEnd, listOf, parseField } from './fields.js'

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

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/
const LENGTH = /^[0-9]{1,15}$/
const MAX_FIELDS = 256

/** `text` is one head as latin1, without the empty line. */
export function parseHead(text: string, method: string): ResponseHead | Fault {
  const lines = text.split('\r\n')
  const statusLine = STATUS_LINE.exec(lines[0] ?? '')
  if (statusLine === null) return 'malformed_status_line'
  if (lines.length - 1 > MAX_FIELDS) return 'head_too_large'
  const version = statusLine[1] === '1' ? '1.1' : '1.0'
  const status = Number(statusLine[2])

  const fields: Header[] = []
  const lengths: string[] = []
  const codings: string[] = []
  const types: string[] = []
  const encodings: string[] = []
  for (let i = 1; i < lines.length; i++) {
    const field = parseField(lines[i] as string)
    if (field === null) return 'malformed_header'
    fields.push(field)
    const [name, value] = field
    if (name === 'content-length') lengths.push(value)
    else if (name === 'transfer-encoding') codings.push(value)
    else if (name === 'content-type') types.push(value)
    else if (name === 'content-encoding') encodings.push(value)
  }

  const framing = frame(method, status, version, lengths, codings)
  if (typeof framing === 'string') return framing
  const connection = listOf(fields, 'connection')
  const persistent = version === '1.1' && framing.kind !== 'close' && !connection.includes('close')
  return {
    status,
    headers: endToEnd(fields, connection),
    framing,
    contentType: types.length === 0 ? null : types.join(', '),
    contentEncoding: encodings.length === 0 ? null : encodings.join(', '),
    keepAliveMs: persistent ? keepAlive(listOf(fields, 'keep-alive')) : 0,
  }
}

function frame(
  method: string,
  status: number,
  version: '1.0' | '1.1',
  lengths: readonly string[],
  codings: readonly string[],
): BodyFraming | Fault {
  const [length] = lengths
  if (lengths.length > 1 || (length !== undefined && !LENGTH.test(length))) {
    return 'conflicting_length'
  }
  if (length !== undefined && codings.length > 0) return 'conflicting_length'
  if (codings.length > 0) {
    const chunked = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked'
    if (!chunked || version === '1.0') return 'unknown_transfer_coding'
  }
  // RFC 9112 §6.1 and RFC 9110 §8.6: neither field may announce a body these statuses cannot have.
  if (status < 200 || status === 204) {
    if (codings.length > 0 || Number(length ?? 0) !== 0) return 'conflicting_length'
    return { kind: 'bodyless' }
  }
  if (method === 'HEAD' || status === 304) return { kind: 'bodyless' }
  if (codings.length > 0) return { kind: 'chunked' }
  if (length !== undefined) return { kind: 'content_length', length: Number(length) }
  return { kind: 'close' }
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
