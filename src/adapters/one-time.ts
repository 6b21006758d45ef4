import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fromBase64url } from '../core/bytes/base64url.js'
import type { OneTimeEncryption } from '../ports/one-time.js'

const ALG = 'aes-256-gcm'
const KEY = 32
const TAG = 16
/** The key is used once, so the nonce need not differ. */
const NONCE = Buffer.alloc(12)
const KEYS_PER_DRAW = 128

/** One draw for many keys: drawing each by itself costs as much as the encryption. A page is never drawn twice. */
function createKeys(): () => Uint8Array {
  let page = Buffer.alloc(0)
  return () => {
    if (page.length === 0) page = randomBytes(KEY * KEYS_PER_DRAW)
    const key = page.subarray(0, KEY)
    page = page.subarray(KEY)
    return key
  }
}
const nextKey = createKeys()

/** base64url(AES-256-GCM ciphertext ‖ tag), with the context as associated data. */
export const oneTimeEncryption: OneTimeEncryption = {
  encrypt(octets, context) {
    const key = nextKey()
    const cipher = createCipheriv(ALG, key, NONCE)
    cipher.setAAD(Buffer.from(context))
    const encrypted = [cipher.update(octets), cipher.final(), cipher.getAuthTag()]
    return { key, text: Buffer.concat(encrypted).toString('base64url') }
  },
  decrypt(text, key, context) {
    const bytes = fromBase64url(text)
    if (bytes === null || bytes.length < TAG || key.length !== KEY) return null
    const decipher = createDecipheriv(ALG, key, NONCE, { authTagLength: TAG })
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(0, -TAG)), decipher.final()])
    } catch {
      return null
    }
  },
}
