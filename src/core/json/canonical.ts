import canonicalize from 'canonicalize'
import { exactPlain } from './exact-plain.js'
import type { CanonicalText } from './parse.js'
import {
  isArray,
  isFloatToken,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  type Plain,
} from './value.js'

/**
 * The verifier's canonical forms: absent-field normalization (seed §2) here, JCS (RFC 8785) by the
 * `canonicalize` package. What we build is written by plain-text.ts: two implementations that must agree (DESIGN §5).
 */
export type NumberFault = { readonly path: string; readonly kind: 'float' | 'unsafe_integer' }

/** JCS(normalize(value)), the named members of the root left out; null if a number forbids it. */
export const canonicalNormalized = (
  value: JsonValue,
  without: readonly string[] = [],
): string | null => text(exactPlain(value, 'normalized', without))

/** Plain JCS without normalization, as statement payloads have it. Null if a number forbids it. */
export const canonical = (value: JsonValue): string | null => text(exactPlain(value, 'as_is'))

function text(plain: { readonly value: Plain } | null): string | null {
  if (plain === null) return null
  const written = canonicalize(plain.value)
  if (written === undefined) throw new TypeError('a JSON value has a canonical form')
  return written
}

/**
 * The same as `canonicalNormalized`, cut out of a text that is canonical as it stands: the members that
 * stay are copied with the commas between them. Writing such a text again takes about half of a
 * signature check, and what the gate sealed is such a text.
 */
export function canonicalOfSource(
  { text, members }: CanonicalText,
  root: JsonObject,
  without: readonly string[],
): string {
  let out = ''
  let from = 0
  let index = 0
  for (const name of root.keys()) {
    const start = members[index++] as number
    if (without.includes(name)) {
      if (from < start) out += text.slice(from, start)
      from = members[index] ?? text.length
    }
  }
  if (from < text.length) return out + text.slice(from)
  // The last member went, and the comma before it with it.
  return out.endsWith(',') ? `${out.slice(0, -1)}}` : '{}'
}

const MAX_FAULTS = 64
const clip = (name: string): string => (name.length <= 64 ? name : `${name.slice(0, 64)}…`)

/**
 * The numbers that have no reproducible digest, with their paths, in document order. At most 64, with
 * long names clipped: what is reported stays small whatever is read.
 */
export function numberFaults(value: JsonValue, path = '$'): NumberFault[] {
  const faults: NumberFault[] = []
  collect(value, path, faults)
  return faults
}

function collect(value: JsonValue, path: string, faults: NumberFault[]): void {
  if (faults.length === MAX_FAULTS) return
  if (value instanceof JsonNumber) {
    if (isFloatToken(value.token)) faults.push({ path, kind: 'float' })
    else if (!isSafeIntegerToken(value.token)) faults.push({ path, kind: 'unsafe_integer' })
  } else if (isArray(value)) {
    value.forEach((element, index) => {
      collect(element, `${path}[${index}]`, faults)
    })
  } else if (value instanceof Map) {
    for (const [name, member] of value as JsonObject)
      collect(member, `${path}.${clip(name)}`, faults)
  }
}
