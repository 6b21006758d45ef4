import canonicalizePackage from 'canonicalize'
import type { Crypto } from '../crypto.js'
import { hex } from '../hex.js'
import { utf8 } from '../text.js'
import { canonicalNormalizedBytes } from './canonical.js'
import { plainText } from './plain-text.js'
import { isRecord, type JsonValue, type Plain } from './value.js'

/**
 * Canonical forms of values we build ourselves: `canonicalize` behind the guard that refuses what has
 * no reproducible digest. A refusal here is our own bug, so it throws.
 */
const LONE_SURROGATE = /\p{Surrogate}/u
const canonicalize = canonicalizePackage as unknown as (value: unknown) => string | undefined

export function canonicalOf(value: Plain): string {
  guard(value, '$')
  return write(value)
}

function write(value: Plain): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('a value without a canonical form')
  return text
}

/** JSON-DIGEST (seed §2) of a value we built. */
export function jsonDigest(value: Plain, crypto: Pick<Crypto, 'sha256' | 'sha256Hex'>): string {
  return textDigest(plainText(value, 'normalized'), crypto)
}

/** Of text that is canonical already. */
export const textDigest = (text: string, crypto: Pick<Crypto, 'sha256' | 'sha256Hex'>): string =>
  crypto.sha256Hex?.(text) ?? hex(crypto.sha256(utf8(text)))

/** JSON-DIGEST of a parsed value; null when a float or unsafe integer forbids it. */
export function jsonDigestOf(value: JsonValue, crypto: Pick<Crypto, 'sha256'>): string | null {
  const bytes = canonicalNormalizedBytes(value)
  return bytes === null ? null : hex(crypto.sha256(bytes))
}

/** Absent-field normalization, bottom-up (seed §2): null, [] and {} members go, array elements stay. */
export function normalize(value: Plain): Plain {
  if (Array.isArray(value)) return value.map(normalize)
  if (value === null || typeof value !== 'object') return value
  const out: Record<string, Plain> = Object.create(null)
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const kept = normalize(member)
    if (!isEmpty(kept)) out[name] = kept
  }
  return out
}

function isEmpty(value: Plain): boolean {
  if (value === null) return true
  if (typeof value !== 'object') return false
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
}

function guard(value: unknown, path: string): void {
  if (value === undefined || value === null || typeof value === 'boolean') return
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      throw new TypeError(`${path}: ${value} has no reproducible digest; use a decimal string`)
    }
  } else if (typeof value === 'string') {
    if (LONE_SURROGATE.test(value)) throw new TypeError(`${path}: lone surrogate`)
  } else if (Array.isArray(value)) {
    // By index: forEach would skip a hole, and a hole is written as null.
    for (let index = 0; index < value.length; index++) {
      if (value[index] === undefined) throw new TypeError(`${path}[${index}]: undefined`)
      guard(value[index], `${path}[${index}]`)
    }
  } else if (typeof value === 'object' && isRecord(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (LONE_SURROGATE.test(name)) throw new TypeError(`${path}: lone surrogate in a name`)
      guard(member, `${path}.${name}`)
    }
  } else {
    throw new TypeError(`${path}: not a JSON value`)
  }
}
