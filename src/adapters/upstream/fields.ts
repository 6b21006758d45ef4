import type { Header } from '../../core/call.js'

/** Header fields, RFC 9110 §5 without the tolerated deviations, shared by requests, heads and trailers. */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
export const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

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
  if (colon < 1) return null
  const name = line.slice(0, colon)
  const value = line.slice(colon + 1)
  if (!TOKEN.test(name) || !FIELD_VALUE.test(value)) return null
  return [name.toLowerCase(), trimSpace(value)]
}

/** SP and HTAB only: String.trim would also eat 0xa0, which is data here. */
function trimSpace(value: string): string {
  let from = 0
  let to = value.length
  while (from < to && isSpace(value.charCodeAt(from))) from++
  while (to > from && isSpace(value.charCodeAt(to - 1))) to--
  return value.slice(from, to)
}
const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** Lower-case members of a comma-separated field that may occur more than once. */
export function listOf(headers: readonly Header[], name: string): string[] {
  const out: string[] = []
  for (const [field, value] of headers) {
    if (field === name) for (const item of value.split(',')) out.push(trimSpace(item).toLowerCase())
  }
  return out
}

/** What may cross a hop: the fixed list goes, and whatever Connection nominates. */
export function endToEnd(
  headers: readonly Header[],
  nominated: readonly string[],
): readonly Header[] {
  return headers.filter(([name]) => !HOP_BY_HOP.has(name) && !nominated.includes(name))
}
