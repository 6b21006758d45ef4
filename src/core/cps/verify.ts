import { fromHex, isHex64 } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Crypto, Sha3 } from '../crypto/crypto.js'
import { cpsHash } from './canonical.js'
import type { CpsFinding, CpsProfile } from './finding.js'
import { type CpsKey, resolveKey } from './keys.js'
import { verifyMlDsa65 } from './post-quantum.js'
import type { Seal, Sealed } from './sealed.js'
import { validateObject } from './validate.js'

export type VerifyOptions = {
  readonly profile: CpsProfile
  /** Null: there are none, and no signature is looked at. */
  readonly keys: readonly CpsKey[] | null
  /** `compat` only: tried for a signer that no key is known of (CPS, key management). */
  readonly fallback?: CpsKey
  /** `structural` trusts stored hashes (CPS, verification levels). */
  readonly level: 'structural' | 'cryptographic'
  /** A capsule without a post-quantum signature is refused. */
  readonly requirePq: boolean
  readonly crypto: Crypto & Sha3
}
export type SealCode =
  | 'not_canonical'
  | 'missing_hash'
  | 'malformed_hash'
  | 'hash_mismatch'
  | 'missing_signature'
  | 'malformed_signature'
  | 'key_unknown'
  | 'key_ambiguous'
  | 'invalid_signature'
  | 'pq_signature_missing'
  | 'pq_key_unknown'
  | 'pq_signature_invalid'
export type CpsResult = {
  readonly ok: boolean
  /** Of the seal; null: it holds, as far as the level goes. */
  readonly code: SealCode | null
  /** Of the members. */
  readonly findings: readonly CpsFinding[]
  readonly hash: string | null
  readonly signed_by: string | null
  /** Of the key that the signature was verified with. */
  readonly public_key: string | null
  readonly not_checked: readonly string[]
}

/** What no check of a capsule can tell (CPS, what a seal does not give). */
const NEVER = ['truth_of_content', 'identity_of_signer', 'signed_at', 'completeness'] as const

/** One capsule: its members, its hash and the signature over it. Where it stands in a chain is `verifyChain`'s. */
export function verifySealed(sealed: Sealed, options: VerifyOptions): CpsResult {
  const { profile, level } = options
  const { findings, ok } = validateObject(sealed.content, profile)
  const { seal } = sealed
  const signed = level === 'structural' ? structural(seal) : verifySeal(sealed, options)
  const unchecked =
    level === 'structural'
      ? ['content_hash', 'signature']
      : options.keys === null
        ? ['signature']
        : []
  return {
    ok: ok && signed.code === null,
    code: signed.code,
    findings,
    hash: seal.hash,
    signed_by: seal.signed_by,
    public_key: signed.key?.publicKey ?? null,
    not_checked: [...unchecked, ...(signed.fellBack ? ['signed_by'] : []), ...NEVER],
  }
}

type Signed = { readonly code: SealCode | null; readonly key?: CpsKey; readonly fellBack?: boolean }

const structural = ({ hash }: Seal): Signed => ({
  code: hash === null ? 'missing_hash' : isHex64(hash) ? null : 'malformed_hash',
})

/** CPS, seal and verification: the hash of the canonical text, and the signature over its 64 hex digits. */
function verifySeal(
  { canonical, isCanonical, seal }: Sealed,
  { profile, keys, fallback, requirePq, crypto }: VerifyOptions,
): Signed {
  const { hash, signature, signature_pq, signed_by } = seal
  if (!isCanonical && profile === 'strict') return { code: 'not_canonical' }
  if (hash === null) return { code: 'missing_hash' }
  // One spelling only: references differ on upper case.
  if (!isHex64(hash)) return { code: 'malformed_hash' }
  if (cpsHash(canonical, crypto) !== hash) return { code: 'hash_mismatch' }
  if (signature === null || signature === '') return { code: 'missing_signature' }
  if (keys === null) return { code: null }
  const bytes = fromHex(signature)
  if (bytes?.length !== 64) return { code: 'malformed_signature' }
  const resolved = resolveKey(signed_by ?? '', keys)
  const fellBack = resolved.kind === 'unknown' && profile === 'compat' && fallback !== undefined
  if (resolved.kind === 'ambiguous') return { code: 'key_ambiguous' }
  const key = resolved.kind === 'key' ? resolved.key : fellBack ? fallback : undefined
  if (key === undefined) return { code: 'key_unknown' }
  const message = utf8(hash)
  if (!crypto.verifyEd25519(fromHex(key.publicKey) ?? NONE, message, bytes)) {
    return { code: 'invalid_signature', key, fellBack }
  }
  return { code: pqFault(signature_pq ?? '', key, message, requirePq), key, fellBack }
}

const NONE = new Uint8Array()

function pqFault(
  signature: string,
  { pqPublicKey }: CpsKey,
  message: Uint8Array,
  required: boolean,
): SealCode | null {
  if (signature === '') return required ? 'pq_signature_missing' : null
  if (pqPublicKey === undefined) return 'pq_key_unknown'
  const bytes = fromHex(signature)
  const isSigned = bytes !== null && verifyMlDsa65(fromHex(pqPublicKey) ?? NONE, message, bytes)
  return isSigned ? null : 'pq_signature_invalid'
}
