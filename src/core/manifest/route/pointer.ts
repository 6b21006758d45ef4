import { isArray, isObject, type JsonValue } from '../../json/value.js'

export const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

/** RFC 6901 tokens of a pointer that has the form POINTER. */
export const pointerTokens = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

export type Resolved =
  | { readonly kind: 'found'; readonly value: JsonValue }
  | { readonly kind: 'absent' }
  /** Another member's name differs from the one read in letter case only. */
  | { readonly kind: 'ambiguous'; readonly name: string }

/**
 * Some servers read member names without regard to case (Go's encoding/json does), so a second
 * spelling beside or instead of the judged one would be what they act on (promise 5).
 */
export function resolvePointer(root: JsonValue, tokens: readonly string[]): Resolved {
  let value: JsonValue = root
  for (const token of tokens) {
    let next: JsonValue | undefined
    if (isObject(value)) {
      for (const name of value.keys()) {
        if (name !== token && sameFolded(name, token)) return { kind: 'ambiguous', name }
      }
      next = value.get(token)
    } else if (isArray(value) && /^(?:0|[1-9][0-9]{0,8})$/.test(token)) {
      next = value[Number(token)]
    }
    if (next === undefined) return { kind: 'absent' }
    value = next
  }
  return { kind: 'found', value }
}

/** Simple case folding: ſ and the Kelvin sign fold to s and k as they do in Go. */
export const fold = (text: string): string => text.toUpperCase().toLowerCase()
export const sameFolded = (a: string, b: string): boolean =>
  a.length === b.length && fold(a) === fold(b)

export const escapePointer = (token: string): string =>
  token.replaceAll('~', '~0').replaceAll('/', '~1')
