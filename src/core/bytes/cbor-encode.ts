import { type Cbor, type CborKey, type CborMap, CborTag } from './cbor.js'
import { utf8 } from './text.js'

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
  #buffer: Uint8Array<ArrayBuffer>
  #at = 0

  /** `capacity` is a first guess; the buffer grows. */
  constructor(capacity = 256) {
    this.#buffer = new Uint8Array(capacity)
  }

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
    // TextEncoder would write U+FFFD instead: a claim that was never made.
    if (LONE_SURROGATE.test(text)) throw new TypeError('a lone surrogate has no CBOR text form')
    const bytes = utf8(text)
    this.head(3, bytes.length)
    this.raw(bytes)
  }

  head(major: number, argument: number | bigint): void {
    this.#reserve(9)
    const type = major << 5
    if (argument < 24) this.#put(type | Number(argument), 0, 0)
    else if (argument < 0x100) this.#put(type | 24, Number(argument), 1)
    else if (argument < 0x10000) this.#put(type | 25, Number(argument), 2)
    else if (argument < 0x100000000) this.#put(type | 26, Number(argument), 4)
    else {
      const wide = BigInt(argument)
      this.#put(type | 27, Number(wide >> 32n), 4)
      this.#bigEndian(Number(wide & 0xffffffffn), 4)
    }
  }

  #put(initial: number, argument: number, width: number): void {
    this.#buffer[this.#at++] = initial
    this.#bigEndian(argument, width)
  }

  #bigEndian(value: number, width: number): void {
    for (let shift = 8 * (width - 1); shift >= 0; shift -= 8) {
      this.#buffer[this.#at++] = (value >>> shift) & 0xff
    }
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
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is no safe integer`)
    out.head(value < 0 ? 1 : 0, value < 0 ? -1 - value : value)
    return
  }
  const argument = value < 0n ? -1n - value : value
  if (argument > 0xffffffffffffffffn) throw new TypeError(`${value} does not fit 64 bits`)
  out.head(value < 0n ? 1 : 0, argument)
}

function array(out: CborWriter, values: readonly Cbor[]): void {
  out.head(4, values.length)
  for (const value of values) write(out, value)
}

function map(out: CborWriter, entries: CborMap): void {
  const sorted = [...entries].map(([key, value]): [Uint8Array, Cbor] => [encodeKey(key), value])
  sorted.sort(([a], [b]) => compareBytes(a, b))
  out.head(5, sorted.length)
  let previous: Uint8Array | null = null
  for (const [key, value] of sorted) {
    // 1 and 1n are two Map keys and one CBOR key.
    if (previous !== null && compareBytes(previous, key) === 0) throw new TypeError('duplicate key')
    previous = key
    out.raw(key)
    write(out, value)
  }
}

function encodeKey(key: CborKey): Uint8Array {
  const out = new CborWriter(32)
  write(out, key)
  return out.bytes()
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
