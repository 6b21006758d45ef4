import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'

/**
 * Only keys of the prime-order subgroup in their one canonical encoding. Under any other key Ed25519
 * verifiers disagree: OpenSSL accepts one signature for every message under the identity key, and a
 * key with a torsion part verifies in one engine and not in the other.
 */
export function isEd25519Key(key: Uint8Array): boolean {
  if (key.length !== 32) return false
  try {
    const point = ed25519.Point.fromBytes(key, false)
    return !point.isSmallOrder() && point.isTorsionFree()
  } catch {
    return false
  }
}

/** The uncompressed form of a point on the curve. */
export function isP256Key(key: Uint8Array): boolean {
  if (key.length !== 65 || key[0] !== 4) return false
  try {
    p256.Point.fromBytes(key)
    return true
  } catch {
    return false
  }
}
