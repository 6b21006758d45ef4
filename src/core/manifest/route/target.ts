import { fromUtf8 } from '../../bytes/text.js'

/**
 * A governed request target, refused and never normalised (DESIGN §3 "Reading requests"): whatever
 * two servers could read as two different resources does not pass, and what passes is forwarded as it
 * stands.
 */
export type QueryPair = readonly [name: string, value: string]
export type Segment = { readonly raw: string; readonly text: string }
export type Target = {
  readonly segments: readonly Segment[]
  /** Decoded pairs in received order, duplicates kept. `+` is a space, as forms have it. */
  readonly query: readonly QueryPair[]
  /** The pairs as servers have them that split at a raw `;` too (Rack 2); null without one. */
  readonly splitAtSemicolons: readonly QueryPair[] | null
}
export type TargetRead =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly detail: string }

const MAX_TARGET = 16 * 1024
/** PHP, qs and node:querystring read a thousand parts, empty ones included, and drop the rest. */
const MAX_QUERY_PARTS = 500
/** RFC 3986 pchar without percent, which is checked apart, and without `;` (see below). */
const PATH = /^(?:[A-Za-z0-9\-._~!$&'()*+,=:@/]|%[0-9A-Fa-f]{2})*$/
/** WHATWG serialisers leave brackets, braces and bars unescaped in queries. */
const QUERY = /^(?:[!$&-;=?-[\]^-~]|%[0-9A-Fa-f]{2})*$/
/** Letters, digits, and `-`, `_`, `~`: escaping them is a second spelling. Dot is refused as such. */
const UNRESERVED_ESCAPE = /%(?:3[0-9]|[46][1-9A-F]|[57][0-9A]|2D|5F|7E)/i
/** Slash, backslash, dot, and every control. */
const FORBIDDEN_ESCAPE = /%(?:2F|5C|2E|[01][0-9A-F]|7F)/i
const ESCAPE_LEFT = /%[0-9A-Fa-f]{2}/

const refused = (detail: string): TargetRead => ({ ok: false, detail })

export function readTarget(target: string): TargetRead {
  if (target.length > MAX_TARGET) return refused('the target is longer than 16 KiB')
  if (!target.startsWith('/')) return refused('the target is not in origin form')
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  // Java containers cut `;…` off a segment before they map it: `/export;x` is `/export` to them.
  if (path.includes(';')) return refused('the path holds a raw ";"')
  if (!PATH.test(path)) return refused('the path holds a character or escape that may not be there')
  if (!QUERY.test(query)) {
    return refused('the query holds a character or escape that may not be there')
  }
  const escaped = path.includes('%')
  if (escaped && FORBIDDEN_ESCAPE.test(path)) {
    return refused('the path holds an encoded slash, backslash, dot or control')
  }
  if (escaped && UNRESERVED_ESCAPE.test(path)) {
    return refused('the path escapes a character that needs none')
  }

  const segments: Segment[] = []
  for (const raw of path === '/' ? [] : path.slice(1).split('/')) {
    const text = percentDecode(raw)
    if (text === null) return refused('the path is not UTF-8 once decoded')
    if (escaped && ESCAPE_LEFT.test(text)) return refused('the path is percent-encoded twice')
    // The same containers, where they decode first.
    const [head] = text.includes(';') ? text.split(';', 1) : [text]
    if (head === '' || head === '.' || head === '..') {
      return refused('the path holds an empty or dot segment')
    }
    // IIS cuts trailing dots and spaces, so that `/export.` would be `/export`.
    if (/[. ]$/.test(text)) return refused('a segment of the path ends in a dot or a space')
    segments.push({ raw, text })
  }
  if (query.length >= MAX_QUERY_PARTS && query.split(/[&;]/).length > MAX_QUERY_PARTS) {
    return refused('the query has more than 500 parts')
  }
  if (query.split('&').some(splitsTwice)) {
    return refused('the query holds "]=" in a value, where some servers end the name')
  }
  const pairs = readQuery(query, '&')
  const others = query.includes(';') ? readQuery(query, /[&;]/) : []
  if (pairs === null || others === null) {
    return refused('the query is not UTF-8 once decoded, or encodes a control')
  }
  const splitAtSemicolons = query.includes(';') ? others : null
  return { ok: true, target: { segments, query: pairs, splitAtSemicolons } }
}

/** qs ends a name at the first `]=`, and at the first `=` only where there is none. */
function splitsTwice(part: string): boolean {
  const equals = part.indexOf('=')
  if (equals < 0 || /(?:\]|%5D)$/i.test(part.slice(0, equals))) return false
  return /(?:\]|%5D)=/i.test(part.slice(equals + 1))
}

function readQuery(query: string, separator: string | RegExp): QueryPair[] | null {
  const pairs: QueryPair[] = []
  if (query === '') return pairs
  for (const part of query.split(separator)) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = percentDecode(spaced(equals < 0 ? part : part.slice(0, equals)))
    const value = percentDecode(spaced(equals < 0 ? '' : part.slice(equals + 1)))
    if (name === null || value === null || name.includes('\0') || value.includes('\0')) return null
    pairs.push([name, value])
  }
  return pairs
}
const spaced = (text: string): string => text.replaceAll('+', ' ')

/**
 * Once, strictly UTF-8; the caller has checked that every percent sign starts an escape. What is not
 * escaped is one octet a character.
 */
export function percentDecode(text: string): string | null {
  if (!/[%\u0080-\u00ff]/.test(text)) return text
  const bytes: number[] = []
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '%') {
      bytes.push(Number.parseInt(text.slice(i + 1, i + 3), 16))
      i += 2
    } else bytes.push(text.charCodeAt(i))
  }
  return fromUtf8(Uint8Array.from(bytes))
}
