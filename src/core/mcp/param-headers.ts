import { fromBase64url } from '../bytes/base64url.js'
import { fromUtf8 } from '../bytes/text.js'
import type { Header } from '../call/call.js'
import { parse } from '../json/parse.js'
import { isObject, JsonNumber, type JsonValue } from '../json/value.js'
import type { HeaderArgument } from './definition.js'

const ENCODED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^([A-Za-z0-9+/]*)={0,2}$/

/** What a header says (2026-07-28, Streamable HTTP, "Value Encoding"); null where its encoding is broken. */
export function headerText(value: string): string | null {
  const [, encoded] = ENCODED.exec(value) ?? []
  if (encoded === undefined) return value
  const [, digits] = encoded.length % 4 === 0 ? (BASE64.exec(encoded) ?? []) : []
  if (digits === undefined) return null
  const octets = fromBase64url(digits.replaceAll('+', '-').replaceAll('/', '_'))
  return octets === null ? null : fromUtf8(octets)
}

/** The headers that a tool's definition asks for, out of the arguments that are sent; values as they are. */
export function paramHeaders(
  wanted: readonly HeaderArgument[],
  argumentsJson: Uint8Array,
): readonly Header[] {
  if (wanted.length === 0 || argumentsJson.length === 0) return []
  const parsed = parse(argumentsJson)
  if (!parsed.ok) return []
  return wanted.flatMap(({ header, path }): Header[] => {
    const text = textOf(path.reduce<JsonValue | undefined>(below, parsed.value))
    return text === null ? [] : [[`mcp-param-${header.toLowerCase()}`, text]]
  })
}

const below = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) ? value.get(name) : undefined

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  return value instanceof JsonNumber ? value.token : null
}

/** Whether a request's head repeats other values than its arguments have, or leaves some out. */
export function repeatOther(given: readonly Header[], wanted: readonly Header[]): boolean {
  const meant = new Map(wanted)
  const seen = new Set<string>()
  for (const [name, value] of given) {
    const expected = meant.get(name)
    // A header that the tool's definition does not ask for says nothing.
    if (expected === undefined) continue
    const text = VISIBLE.test(value) ? headerText(value) : null
    if (text === null || seen.has(name) || !same(text, expected)) return true
    seen.add(name)
  }
  return seen.size < meant.size
}
const VISIBLE = /^[\t -~]*$/
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?$/

const same = (text: string, expected: string): boolean =>
  text === expected ||
  (NUMBER.test(text) && NUMBER.test(expected) && Number(text) === Number(expected))
