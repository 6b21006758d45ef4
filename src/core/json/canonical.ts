import { fromUtf8, utf8 } from '../text.js'
import type { CanonicalText } from './parse.js'
import {
  isArray,
  isFloatToken,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
} from './value.js'

/**
 * Our one-pass writer: absent-field normalization (seed §2) and JCS (RFC 8785) together, from a parsed
 * tree straight to UTF-8. It verifies; what we build is written by plain-text.ts, and the two must agree.
 */
export type NumberFault = { readonly path: string; readonly kind: 'float' | 'unsafe_integer' }

/** The bytes of JCS(normalize(value)), the named members of the root left out; null if a number forbids it. */
export function canonicalNormalizedBytes(
  value: JsonValue,
  without: readonly string[] = [],
): Uint8Array<ArrayBuffer> | null {
  return written(value, without, true)
}

export const canonicalNormalized = (
  value: JsonValue,
  without: readonly string[] = [],
): string | null => textOf(written(value, without, true))

/** Plain JCS without normalization, as statement payloads have it. Null if a number forbids it. */
export const canonical = (value: JsonValue): string | null => textOf(written(value, [], false))

const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : fromUtf8(bytes)

/**
 * The same as `canonicalNormalized`, cut out of a text that is canonical as it stands: the members that
 * stay are copied with the commas between them.
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

class Unwritable extends Error {}

/** One buffer serves every call, since a call ends before the next begins; a huge one is let go. */
const KEPT_BYTES = 64 * 1024
let buffer = new Uint8Array(KEPT_BYTES)
let at = 0
let normalizing = false

function written(
  value: JsonValue,
  without: readonly string[],
  normalize: boolean,
): Uint8Array<ArrayBuffer> | null {
  at = 0
  normalizing = normalize
  try {
    if (!(value instanceof Map ? object(value, without) : write(value))) empty(value)
    return buffer.slice(0, at)
  } catch (error) {
    if (error instanceof Unwritable) return null
    throw error
  } finally {
    if (buffer.length > KEPT_BYTES) buffer = new Uint8Array(KEPT_BYTES)
  }
}

/** False: it normalizes to nothing (null, [] or {}) and was not written, so its member goes too. */
function write(value: JsonValue): boolean {
  if (typeof value === 'string') quoted(value)
  else if (value === null) {
    if (normalizing) return false
    ascii('null')
  } else if (typeof value === 'boolean') ascii(value ? 'true' : 'false')
  else if (value instanceof JsonNumber) number(value)
  else return isArray(value) ? array(value) : object(value, [])
  return true
}

/** What stands where a value must not go: an array's element, or the root. */
const empty = (value: JsonValue): void =>
  ascii(value === null ? 'null' : isArray(value) ? '[]' : '{}')

function array(value: readonly JsonValue[]): boolean {
  if (normalizing && value.length === 0) return false
  byte(0x5b)
  for (let i = 0; i < value.length; i++) {
    if (i > 0) byte(0x2c)
    const element = value[i] as JsonValue
    // Elements are never dropped: [null], [[]] and [{}] stay.
    if (!write(element)) empty(element)
  }
  byte(0x5d)
  return true
}

function object(members: JsonObject, without: readonly string[]): boolean {
  const start = at
  byte(0x7b)
  let any = false
  for (const [name, value] of inOrder(members)) {
    if (without.length > 0 && without.includes(name)) continue
    const before = at
    if (any) byte(0x2c)
    quoted(name)
    byte(0x3a)
    if (write(value)) any = true
    else at = before
  }
  if (normalizing && !any) {
    at = start
    return false
  }
  byte(0x7d)
  return true
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

/** Throws where the number has no canonical form here (see `numberFaults`). `-0` is written `0`. */
function number(value: JsonNumber): void {
  if (!isSafeIntegerToken(value.token)) throw new Unwritable()
  ascii(value.token === '-0' ? '0' : value.token)
}

/**
 * RFC 8785 §3.2.2.2. Plain ASCII is copied as it is read; at the first other character the string is
 * left to the platform, whose escapes are the RFC's. The parser refuses lone surrogates.
 */
function quoted(text: string): void {
  reserve(text.length + 2)
  // Locals: this loop runs once per character of everything that is verified.
  const out = buffer
  const { length } = text
  let to = at
  out[to++] = 0x22
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) {
      raw(utf8(JSON.stringify(text)))
      return
    }
    out[to++] = code
  }
  out[to++] = 0x22
  at = to
}

function ascii(text: string): void {
  reserve(text.length)
  for (let i = 0; i < text.length; i++) buffer[at++] = text.charCodeAt(i)
}

function raw(bytes: Uint8Array): void {
  reserve(bytes.length)
  buffer.set(bytes, at)
  at += bytes.length
}

function byte(value: number): void {
  reserve(1)
  buffer[at++] = value
}

function reserve(length: number): void {
  if (at + length <= buffer.length) return
  const grown = new Uint8Array(Math.max(at + length, buffer.length * 2))
  grown.set(buffer.subarray(0, at))
  buffer = grown
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
