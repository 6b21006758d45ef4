import type { Hashing } from '../crypto/crypto.js'
import { fromHex, hex } from './hex.js'
import { utf8 } from './text.js'

/** Name-based UUIDv8 with SHA-256, as RFC 9562 appendix B.2 computes it. */
export function nameUuid(namespace: string, name: string, crypto: Hashing): string {
  const space = fromHex(namespace.replaceAll('-', '')) ?? new Uint8Array()
  const named = utf8(name)
  const input = new Uint8Array(space.length + named.length)
  input.set(space)
  input.set(named, space.length)
  const octets = crypto.sha256(input).slice(0, 16)
  octets[6] = ((octets[6] as number) & 0x0f) | 0x80
  octets[8] = ((octets[8] as number) & 0x3f) | 0x80
  const digits = hex(octets)
  const groups = [0, 8, 12, 16, 20].map((from, at, all) => digits.slice(from, all[at + 1]))
  return groups.join('-')
}
