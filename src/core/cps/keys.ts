import { fromHex } from '../bytes/hex.js'
import { isEd25519Key } from '../crypto/public-key.js'

/** A key that may sign capsules, by itself or beside a post-quantum one. */
export type CpsKey = {
  /** Lower-case hex, 32 octets. */
  readonly publicKey: string
  /** ML-DSA-65, lower-case hex, 1952 octets. */
  readonly pqPublicKey?: string
}

/** Anatomy, bundle: the first 16 hex digits of the public key. */
export const fingerprintOf = ({ publicKey }: CpsKey): string => publicKey.slice(0, 16)

export type Resolved =
  | { readonly kind: 'key'; readonly key: CpsKey }
  | { readonly kind: 'unknown' | 'ambiguous' }

const SHORT = /^qp_key_([0-9a-f]{4})$/

/**
 * The key that a seal's `signed_by` names. CPS's reference writes 4 hex digits behind `qp_key_`, which several keys may
 * share: then nothing is guessed.
 */
export function resolveKey(signedBy: string, keys: readonly CpsKey[]): Resolved {
  const short = SHORT.exec(signedBy)?.[1]
  const found = keys.filter((key) =>
    short === undefined ? fingerprintOf(key) === signedBy : key.publicKey.startsWith(short),
  )
  const [key] = found
  if (key === undefined) return { kind: 'unknown' }
  const isOne = found.every(({ publicKey }) => publicKey === key.publicKey)
  return isOne ? { kind: 'key', key } : { kind: 'ambiguous' }
}

const PQ_KEY_BYTES = 1952

/** Why it is no key; null where it is one. */
export function keyFault({ publicKey, pqPublicKey }: CpsKey): string | null {
  const bytes = fromHex(publicKey)
  if (bytes === null || !isEd25519Key(bytes)) return 'is no acceptable Ed25519 public key'
  if (pqPublicKey === undefined) return null
  return fromHex(pqPublicKey)?.length === PQ_KEY_BYTES ? null : 'is no ML-DSA-65 public key'
}
