import { hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Hashing } from '../crypto/crypto.js'
import { exactPlain } from './exact-plain.js'
import { plainText } from './plain-text.js'
import type { JsonValue, Plain } from './value.js'

/** JCS of a value we built. What has no reproducible digest is our own bug, so it throws. */
export const canonicalOf = (value: Plain): string => plainText(value, 'as_is')

/** JSON-DIGEST (seed §2) of a value we built. */
export function jsonDigest(value: Plain, crypto: Hashing): string {
  return textDigest(plainText(value, 'normalized'), crypto)
}

/** Of text that is canonical already. */
export const textDigest = (text: string, crypto: Hashing): string =>
  crypto.sha256Hex?.(text) ?? hex(crypto.sha256(utf8(text)))

/** Of octets as they are. */
export const bytesDigest = (bytes: Uint8Array, crypto: Hashing): string =>
  crypto.sha256Hex?.(bytes) ?? hex(crypto.sha256(bytes))

/** JSON-DIGEST of a parsed value; null when a float or unsafe integer forbids it. */
export function jsonDigestOf(value: JsonValue, crypto: Hashing): string | null {
  const plain = exactPlain(value, 'as_is')
  return plain === null ? null : jsonDigest(plain.value, crypto)
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
