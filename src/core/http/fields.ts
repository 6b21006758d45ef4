import type { Header } from '../call/call.js'

/**
 * Header fields, RFC 9110 §5 without the tolerated deviations, shared by requests, heads and trailers.
 * Read by tables of octets: every field of every call passes here, and an expression costs three times
 * as much.
 */
const octets = (allowed: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => (allowed.test(String.fromCharCode(code)) ? 1 : 0))
const TOKEN = octets(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/)
const FIELD_VALUE = octets(/[\t\x20-\x7e\x80-\xff]/)
const VISIBLE = octets(/[\x21-\x7e\x80-\xff]/)

/** A code above 255 reads undefined, which is not 1. */
function consistsOf(allowed: Uint8Array, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (allowed[text.charCodeAt(i)] !== 1) return false
  return true
}

export const isToken = (text: string): boolean => text.length > 0 && consistsOf(TOKEN, text)
export const isFieldValue = (text: string): boolean => consistsOf(FIELD_VALUE, text)
/** Neither a space nor a control: one word of a request line. */
export const isVisible = (text: string): boolean => consistsOf(VISIBLE, text)

/** How far from `from` on the octets may stand in a name, or in a value. */
export const endOfToken = (bytes: Uint8Array, from: number, to: number): number =>
  endOf(TOKEN, bytes, from, to)
export const endOfValue = (bytes: Uint8Array, from: number, to: number): number =>
  endOf(FIELD_VALUE, bytes, from, to)

function endOf(allowed: Uint8Array, bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && allowed[bytes[at] as number] === 1) at++
  return at
}

/** RFC 9110 §7.6.1, and the names older proxies treat alike. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** One field line without its CRLF; null when it is not exactly `token ":" OWS value OWS`. */
export function parseField(line: string): Header | null {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  const value = line.slice(colon + 1)
  if (colon < 1 || !isToken(name) || !isFieldValue(value)) return null
  return [name.toLowerCase(), trimmed(value, 0, value.length)]
}

/** SP and HTAB only: String.trim would also eat 0xa0, which is data here. */
export function trimmed(text: string, start: number, end: number): string {
  let from = start
  let to = end
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}
const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

const NONE: readonly string[] = []

/** Lower-case members of a comma-separated field that may occur more than once. */
export function listOf(headers: readonly Header[], name: string): readonly string[] {
  let out: string[] | null = null
  for (const header of headers) {
    if (header[0] !== name) continue
    out ??= []
    for (const item of header[1].split(',')) out.push(trimmed(item, 0, item.length).toLowerCase())
  }
  return out ?? NONE
}

/** What may cross a hop: the fixed list goes, and whatever Connection nominates. */
export function endToEnd(
  headers: readonly Header[],
  nominated: readonly string[],
): readonly Header[] {
  const out: Header[] = []
  for (const header of headers) {
    const name = header[0]
    if (!HOP_BY_HOP.has(name) && !nominated.includes(name)) out.push(header)
  }
  return out
}
