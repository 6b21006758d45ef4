import {
  isArray,
  isFloatToken,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
} from './value.js'

/**
 * Our one-pass writer: absent-field normalization (seed §2) and JCS (RFC 8785) together, over a parsed
 * tree. It verifies; what we build is written by `canonicalize` (build.ts), and the two must agree.
 */
export type NumberFault = { readonly path: string; readonly kind: 'float' | 'unsafe_integer' }

/** RFC 8785 §3.2.2.2. The parser refuses lone surrogates, so JSON.stringify's own escape of them is unreachable. */
function quote(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x22 || code === 0x5c) return JSON.stringify(text)
  }
  return `"${text}"`
}

/**
 * RFC 8785 §3.2.3: names sort by UTF-16 code units, which is how JavaScript compares strings. What is
 * verified was mostly written canonically, so members that stand in order already are not sorted.
 */
function inOrder(value: JsonObject): Iterable<readonly [string, JsonValue]> {
  let previous = ''
  for (const name of value.keys()) {
    if (name < previous) return [...value].sort(([a], [b]) => (a < b ? -1 : 1))
    previous = name
  }
  return value
}

/** Null where the number has no canonical form here (see `numberFaults`). `-0` is written `0`. */
function number(value: JsonNumber): string | null {
  if (!isSafeIntegerToken(value.token)) return null
  return value.token === '-0' ? '0' : value.token
}

class Unwritable extends Error {}

/** JCS(normalize(value)) with members that normalize away left out; null if a number forbids it. */
export function canonicalNormalized(
  value: JsonValue,
  without: readonly string[] = [],
): string | null {
  try {
    const isRoot = value instanceof Map
    if (isRoot) return object(value, without) ?? '{}'
    return write(value) ?? (Array.isArray(value) ? '[]' : 'null')
  } catch (error) {
    if (error instanceof Unwritable) return null
    throw error
  }
}

/** Undefined means: normalizes to nothing (null, [] or {}), so a member holding it is dropped. */
function write(value: JsonValue): string | undefined {
  if (typeof value === 'string') return quote(value)
  if (value === null) return undefined
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value instanceof JsonNumber) {
    const text = number(value)
    if (text === null) throw new Unwritable()
    return text
  }
  if (isArray(value)) return array(value)
  return object(value, [])
}

function array(value: readonly JsonValue[]): string | undefined {
  if (value.length === 0) return undefined
  // Elements are never dropped (notes: [null], [[]] and [{}] stay).
  let out = ''
  for (const element of value) out += `${out === '' ? '[' : ','}${write(element) ?? empty(element)}`
  return `${out}]`
}

const empty = (value: JsonValue): string => (value === null ? 'null' : isArray(value) ? '[]' : '{}')

function object(members: JsonObject, without: readonly string[]): string | undefined {
  let out = ''
  for (const [name, value] of inOrder(members)) {
    if (without.length > 0 && without.includes(name)) continue
    const member = write(value)
    if (member !== undefined) out += `${out === '' ? '{' : ','}${quote(name)}:${member}`
  }
  return out === '' ? undefined : `${out}}`
}

/** Plain JCS without normalization, as statement payloads have it. Null if a number forbids it. */
export function canonical(value: JsonValue): string | null {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quote(value)
  if (value instanceof JsonNumber) return number(value)
  const parts: string[] = []
  if (isArray(value)) {
    for (const element of value) {
      const text = canonical(element)
      if (text === null) return null
      parts.push(text)
    }
    return `[${parts.join(',')}]`
  }
  for (const [name, member] of inOrder(value)) {
    const text = canonical(member)
    if (text === null) return null
    parts.push(`${quote(name)}:${text}`)
  }
  return `{${parts.join(',')}}`
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
