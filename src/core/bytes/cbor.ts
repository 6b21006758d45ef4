import { Refusal, type Refused } from './refusal.js'
import { fromUtf8 } from './text.js'

/**
 * The CBOR that COSE_Sign1 needs (RFC 8949): integers, byte and text strings, arrays, maps, booleans,
 * null. Reading is strict, so that one value has one encoding but for the order of map keys, which
 * foreign signers do not sort. cbor-encode.ts writes.
 */
export type Cbor =
  | number
  | bigint
  | string
  | boolean
  | null
  | Uint8Array
  | CborTag
  | readonly Cbor[]
  | CborMap
/** A safe integer is a number, any other a bigint: never both for one value. */
export type CborKey = number | bigint | string
export type CborMap = ReadonlyMap<CborKey, Cbor>
/** Seconds since the epoch, as production statements carry `iat`. Read only, never written. */
export class CborTag {
  readonly tag = 1
  readonly value: number | bigint
  constructor(value: number | bigint) {
    this.value = value
  }
}

type CborFault =
  | 'too_large'
  | 'too_deep'
  | 'truncated'
  | 'indefinite'
  | 'non_minimal'
  | 'duplicate_key'
  | 'key_type'
  | 'not_utf8'
  | 'float'
  | 'tag'
  | 'simple'
  | 'reserved'
  | 'trailing'
export type CborRead = { readonly ok: true; readonly value: Cbor } | Refused<CborFault>

export const MAX_BYTES = 1024 * 1024
export const MAX_DEPTH = 16

/** One value and nothing after it. Never throws; work is linear in the input. */
export function decodeCbor(bytes: Uint8Array, options: { epochTag?: boolean } = {}): CborRead {
  if (bytes.length > MAX_BYTES) return { ok: false, code: 'too_large', at: MAX_BYTES }
  try {
    const reader = new Reader(bytes, options.epochTag === true)
    const value = reader.value(0)
    return reader.at < bytes.length ? refuse('trailing', reader.at) : { ok: true, value }
  } catch (error) {
    if (error instanceof Refusal) return error.refused
    throw error
  }
}

function refuse(code: CborFault, at: number): never {
  throw new Refusal(code, at)
}

class Reader {
  at = 0
  readonly #bytes: Uint8Array
  readonly #epochTag: boolean

  constructor(bytes: Uint8Array, epochTag: boolean) {
    this.#bytes = bytes
    this.#epochTag = epochTag
  }

  value(depth: number): Cbor {
    const start = this.at
    const initial = this.#byte()
    const info = initial & 31
    switch (initial >> 5) {
      case 0:
        return this.#argument(info, start)
      case 1:
        return negative(this.#argument(info, start))
      case 2:
        return this.#take(this.#length(info, start), start)
      case 3:
        return this.#text(this.#length(info, start), start)
      case 4:
        return this.#array(info, depth + 1, start)
      case 5:
        return this.#map(info, depth + 1, start)
      case 6:
        return this.#tag(info, depth, start)
      default:
        return simple(info, start)
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.at]
    if (byte === undefined) refuse('truncated', this.at)
    this.at++
    return byte
  }

  #argument(info: number, start: number): number | bigint {
    if (info < 24) return info
    if (info > 27) refuse(info === 31 ? 'indefinite' : 'reserved', start)
    const width = 1 << (info - 24)
    let value = 0
    if (width < 8) {
      for (let i = 0; i < width; i++) value = value * 256 + this.#byte()
      const least = width === 1 ? 24 : width === 2 ? 0x100 : 0x10000
      if (value < least) refuse('non_minimal', start)
      return value
    }
    let high = 0
    for (let i = 0; i < 4; i++) high = high * 256 + this.#byte()
    for (let i = 0; i < 4; i++) value = value * 256 + this.#byte()
    if (high === 0) refuse('non_minimal', start)
    return high < 0x200000 ? high * 0x100000000 + value : (BigInt(high) << 32n) | BigInt(value)
  }

  /** Checked against what is left before anything is allocated or looped over. */
  #length(info: number, start: number, bytesEach = 1): number {
    const count = this.#argument(info, start)
    const left = this.#bytes.length - this.at
    if (typeof count === 'bigint' || count * bytesEach > left) refuse('truncated', start)
    return count
  }

  #take(length: number, start: number): Uint8Array {
    if (length > this.#bytes.length - this.at) refuse('truncated', start)
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }

  #text(length: number, start: number): string {
    const text = fromUtf8(this.#take(length, start))
    if (text === null) refuse('not_utf8', start)
    return text
  }

  #array(info: number, depth: number, start: number): readonly Cbor[] {
    if (depth > MAX_DEPTH) refuse('too_deep', start)
    const count = this.#length(info, start)
    const out: Cbor[] = []
    for (let i = 0; i < count; i++) out.push(this.value(depth))
    return out
  }

  #map(info: number, depth: number, start: number): CborMap {
    if (depth > MAX_DEPTH) refuse('too_deep', start)
    const count = this.#length(info, start, 2)
    const out = new Map<CborKey, Cbor>()
    for (let i = 0; i < count; i++) {
      const at = this.at
      const key = this.value(depth)
      if (typeof key !== 'number' && typeof key !== 'string' && typeof key !== 'bigint') {
        refuse('key_type', at)
      }
      if (out.has(key)) refuse('duplicate_key', at)
      out.set(key, this.value(depth))
    }
    return out
  }

  #tag(info: number, depth: number, start: number): CborTag {
    const tag = this.#argument(info, start)
    if (tag !== 1 || !this.#epochTag) refuse('tag', start)
    const at = this.at
    const seconds = this.value(depth)
    if (typeof seconds !== 'number' && typeof seconds !== 'bigint') refuse('tag', at)
    return new CborTag(seconds)
  }
}

function negative(value: number | bigint): number | bigint {
  if (typeof value === 'bigint') return -1n - value
  return value === Number.MAX_SAFE_INTEGER ? -1n - BigInt(value) : -1 - value
}

function simple(info: number, at: number): boolean | null {
  if (info === 20) return false
  if (info === 21) return true
  if (info === 22) return null
  if (info === 31) refuse('indefinite', at)
  refuse(info >= 25 && info <= 27 ? 'float' : 'simple', at)
}
