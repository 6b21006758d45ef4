import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'

/** AES-256-GCM: nonce ‖ ciphertext ‖ tag. */
export const NONCE = 12
export const TAG = 16

/** One draw for many nonces. They are random, and each key encrypts far fewer than the 2^32 texts that allows. */
const nonces = Buffer.alloc(NONCE * 256)
let nextNonce = nonces.length
function freshNonce(): Buffer {
  if (nextNonce === nonces.length) {
    randomFillSync(nonces)
    nextNonce = 0
  }
  nextNonce += NONCE
  return nonces.subarray(nextNonce - NONCE, nextNonce)
}

/** Writes at `position`; returns the position after it. */
export function encryptInto(
  target: Buffer,
  position: number,
  key: Buffer,
  associated: Buffer,
  plain: Uint8Array,
): number {
  const nonce = freshNonce()
  let at = position + nonce.copy(target, position)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(associated)
  at += cipher.update(plain).copy(target, at)
  cipher.final()
  return at + cipher.getAuthTag().copy(target, at)
}

/** Null under another key, or when anything was changed. */
export function decrypt(encrypted: Buffer, key: Buffer, associated: Buffer): Buffer | null {
  const tagAt = encrypted.length - TAG
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, NONCE))
  decipher.setAAD(associated)
  decipher.setAuthTag(encrypted.subarray(tagAt))
  try {
    const plain = decipher.update(encrypted.subarray(NONCE, tagAt))
    decipher.final()
    return plain
  } catch {
    return null
  }
}
