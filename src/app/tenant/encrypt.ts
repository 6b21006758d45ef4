import { createCipheriv, createDecipheriv, createSecretKey, randomFillSync } from 'node:crypto'
import { fromBase64url } from '../../core/bytes/base64url.js'
import type { Encryption } from '../../ports/tenant.js'

const ALG = 'aes-256-gcm'
const NONCE = 12
const TAG = 16
/**
 * Texts are padded to whole blocks: the length of an amount would tell its order of magnitude. A multiple of 3,
 * like the nonce, so that the parts' base64url is the whole's and none is copied.
 */
const BLOCK = 48
const NONCES_PER_DRAW = 256
const SPACE = 0x20

/** base64url(nonce ‖ AES-256-GCM ciphertext ‖ tag), with the context as associated data. */
export function encryptionUnder(secret: Uint8Array): Encryption {
  const key = createSecretKey(secret)
  // One draw for many nonces: drawing each by itself costs as much as the encryption.
  const nonces = Buffer.alloc(NONCE * NONCES_PER_DRAW)
  let used = nonces.length
  const nonce = (): Buffer => {
    if (used === nonces.length) {
      randomFillSync(nonces)
      used = 0
    }
    used += NONCE
    return nonces.subarray(used - NONCE, used)
  }
  return {
    encrypt(text, context) {
      const length = Buffer.byteLength(text)
      const blocks = Math.max(1, Math.ceil(length / BLOCK))
      const padded = Buffer.allocUnsafe(blocks * BLOCK)
      padded.fill(SPACE, padded.write(text))
      const iv = nonce()
      const cipher = createCipheriv(ALG, key, iv)
      cipher.setAAD(Buffer.from(context))
      const encrypted = cipher.update(padded).toString('base64url')
      cipher.final()
      return `${iv.toString('base64url')}${encrypted}${cipher.getAuthTag().toString('base64url')}`
    },
    decrypt(encrypted, context) {
      const bytes = fromBase64url(encrypted)
      if (bytes === null || bytes.length < NONCE + TAG) return null
      const decipher = createDecipheriv(ALG, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG))
      try {
        const text = decipher.update(bytes.subarray(NONCE, bytes.length - TAG), undefined, 'utf8')
        return `${text}${decipher.final('utf8')}`.trimEnd()
      } catch {
        return null
      }
    },
  }
}
