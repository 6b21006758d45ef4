import type { Crypto } from '../crypto.js'
import { hex } from '../hex.js'
import { utf8 } from '../text.js'

/**
 * Who voted, as the journal may say it: the same person has the same pseudonym, and nobody without
 * the tenant's salt can find the name by guessing (promise 8).
 */
export const pseudonym = (
  name: string,
  tenantSalt: string,
  crypto: Pick<Crypto, 'sha256'>,
): string => hex(hmacSha256(utf8(tenantSalt), utf8(name), crypto))

const BLOCK = 64

/** RFC 2104 over the one hash the core knows. */
export function hmacSha256(
  key: Uint8Array,
  message: Uint8Array,
  { sha256 }: Pick<Crypto, 'sha256'>,
): Uint8Array {
  const block = new Uint8Array(BLOCK)
  block.set(key.length > BLOCK ? sha256(key) : key)
  const padded = (byte: number, rest: Uint8Array): Uint8Array => {
    const out = new Uint8Array(BLOCK + rest.length)
    for (let i = 0; i < BLOCK; i++) out[i] = (block[i] as number) ^ byte
    out.set(rest, BLOCK)
    return out
  }
  return sha256(padded(0x5c, sha256(padded(0x36, message))))
}
