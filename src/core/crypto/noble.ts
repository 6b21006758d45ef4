import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { sha3_256 } from '@noble/hashes/sha3.js'
import { fromHex, hex } from '../bytes/hex.js'
import { memo } from '../memo.js'
import type { Crypto, Sha3 } from './crypto.js'
import { isEd25519Key } from './public-key.js'

/** Portable engine: browsers, and the second opinion in tests. Answers exactly as crypto-node does. */
const acceptable = memo(64, (key) => isEd25519Key(fromHex(key) ?? new Uint8Array()))

export const nobleCrypto: Crypto & Sha3 = {
  name: 'noble',
  sha256: (data) => sha256(data),
  sha3_256: (data) => sha3_256(data),

  verifyEd25519(publicKey, message, signature) {
    if (signature.length !== 64 || publicKey.length !== 32) return false
    if (!acceptable(hex(publicKey))) return false
    if (!ed25519.verify(signature, message, publicKey, { zip215: false })) return false
    // noble's equation is cofactored: it would pass an R with a torsion part, which OpenSSL refuses.
    return ed25519.Point.fromBytes(signature.subarray(0, 32), false).isTorsionFree()
  },

  verifyES256(publicKey, message, signature) {
    if (signature.length !== 64 || publicKey.length !== 65 || publicKey[0] !== 4) return false
    try {
      // COSE has no low-S rule, and half of all honest signatures are high-S.
      return p256.verify(signature, message, publicKey, { lowS: false, prehash: true })
    } catch {
      return false
    }
  },
}
