import { utf8 } from '../text.js'
import { type Cbor, type CborKey, type CborMap, CborTag } from './cbor.js'

/**
 * Core deterministic encoding (RFC 8949 §4.2.1): shortest heads, definite lengths, map keys sorted by
 * their encoded bytes. What cannot be encoded is our own bug, so it throws.
 */
export function encodeCbor(value: Cbor): Uint8Array<ArrayBuffer> {
  const out = new CborWriter()
  write(out, value)
  return out.bytes()
}

const LONE_SURROGATE = /\p{Surrogate}/u

export class CborWriter {
  #buffer = new Uint8Array(256)
  #at = 0

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#at)
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  byteString(bytes: Uint8Array): void {
    this.head(2, bytes.length)
    this.raw(bytes)
  }

  textString(text: string): void {
    // TextEncoder would write U+FFFD in its place: a claim nobody made.
    if (LONE_SURROGATE.test(text)) throw new TypeError('a lone surrogate has no CBOR text form')
    const bytes = utf8(text)
    this.head(3, bytes.length)
    this.raw(bytes)
  }

  head(major: number, argument: number | bigint): void {
    this.#reserve(9)
    const buffer = this.#buffer
    const type = major << 5
    if (argument < 24) {
      buffer[this.#at++] = type | Number(argument)
      return
    }
    const [info, width] =
      argument < 0x100
        ? [24, 1]
        : argument < 0x10000
          ? [25, 2]
          : argument < 0x100000000
            ? [26, 4]
            : [27, 8]
    buffer[this.#at++] = type | info
    let rest = BigInt(argument)
    for (let i = width - 1; i >= 0; i--) {
      buffer[this.#at + i] = Number(rest & 0xffn)
      rest >>= 8n
    }
    this.#at += width
  }

  #reserve(length: number): void {
    const needed = this.#at + length
    if (needed <= this.#buffer.length) return
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2))
    grown.set(this.#buffer)
    this.#buffer = grown
  }
}

function write(out: CborWriter, value: Cbor): void {
  if (typeof value === 'number' || typeof value === 'bigint') integer(out, value)
  else if (typeof value === 'string') out.textString(value)
  else if (value === null) out.head(7, 22)
  else if (typeof value === 'boolean') out.head(7, value ? 21 : 20)
  else if (value instanceof Uint8Array) out.byteString(value)
  else if (value instanceof CborTag) throw new TypeError('tags are read, never written')
  else if (value instanceof Map) map(out, value)
  else array(out, value as readonly Cbor[])
}

function integer(out: CborWriter, value: number | bigint): void {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError(`${value} is no safe integer`)
  }
  const wide = BigInt(value)
  const argument = wide < 0n ? -1n - wide : wide
  if (argument > 0xffffffffffffffffn) throw new TypeError(`${value} does not fit 64 bits`)
  out.head(wide < 0n ? 1 : 0, argument)
}

function array(out: CborWriter, values: readonly Cbor[]): void {
  out.head(4, values.length)
  for (const value of values) write(out, value)
}

function map(out: CborWriter, entries: CborMap): void {
  const sorted = [...entries].map(([key, value]): [Uint8Array, CborKey, Cbor] => [
    encodeCbor(key),
    key,
    value,
  ])
  sorted.sort(([a], [b]) => compareBytes(a, b))
  out.head(5, sorted.length)
  let previous: Uint8Array | null = null
  for (const [key, , value] of sorted) {
    // 1 and 1n are two Map keys and one CBOR key.
    if (previous !== null && compareBytes(previous, key) === 0) throw new TypeError('duplicate key')
    previous = key
    out.raw(key)
    write(out, value)
  }
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
