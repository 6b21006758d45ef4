import { fromHex, hex } from '../bytes/hex.js'
import type { Crypto } from '../crypto/crypto.js'
import { LABEL } from './header.js'
import { familyOf, type KeyFamily, type KeyPurpose, type PublicKeyRecord } from './keys.js'
import { decodeSign1, type Sign1, sigStructure } from './sign1.js'

export type Sign1Code =
  | 'malformed'
  | 'alg_unsupported'
  | 'alg_mismatch'
  | 'kid_missing'
  | 'kid_unknown'
  | 'key_purpose'
  | 'crit'
  | 'signature_invalid'

export type Sign1Options = {
  readonly keys: readonly PublicKeyRecord[]
  readonly crypto: Crypto
  readonly purpose?: KeyPurpose
  /** The caller already knows the signer's key: for statements of other makers that carry no kid. */
  readonly pinned?: PublicKeyRecord | undefined
}
export type Sign1Result = {
  readonly ok: boolean
  readonly code: null | Sign1Code
  readonly detail?: string
  readonly kid: string | null
  readonly alg: number | null
  readonly sign1: Sign1 | null
  readonly key: PublicKeyRecord | null
}

/** One signature under one pinned key. A value for every input; throws for none. */
export function verifySign1(cose: Uint8Array, options: Sign1Options): Sign1Result {
  const read = decodeSign1(cose)
  if (!read.ok) {
    const nothing = { kid: null, alg: null, sign1: null, key: null }
    return { ok: false, code: 'malformed', detail: read.detail, ...nothing }
  }
  const { sign1 } = read
  const header = sign1.protected
  const kidValue = header.get(LABEL.kid)
  const kid = kidValue instanceof Uint8Array && kidValue.length > 0 ? hex(kidValue) : null
  const algValue = header.get(LABEL.alg)
  const alg = typeof algValue === 'number' ? algValue : null
  const answer = (
    code: Sign1Code,
    detail?: string,
    key: PublicKeyRecord | null = null,
  ): Sign1Result => ({
    ok: false,
    code,
    ...(detail !== undefined && { detail }),
    kid,
    alg,
    sign1,
    key,
  })

  // We understand no critical header, so whatever it lists is not understood (RFC 9052 §3.1).
  if (header.has(LABEL.crit) || sign1.unprotected.has(LABEL.crit)) {
    return answer('crit', 'critical headers are not supported')
  }
  // Only the protected header: in the unprotected one an attacker could choose the algorithm.
  const family = familyOf(alg)
  if (family === null) {
    return answer('alg_unsupported', alg === null ? 'no protected integer alg' : `alg ${alg}`)
  }
  const found = options.pinned ?? lookUp(kid, options.keys)
  if (typeof found === 'string') {
    return answer(kid === null ? 'kid_missing' : 'kid_unknown', found)
  }
  const purpose = options.purpose ?? 'statement'
  if (found.purpose !== purpose) {
    return answer('key_purpose', `a ${found.purpose} key, ${purpose} needed`, found)
  }
  if (familyOf(found.alg) !== family) {
    return answer('alg_mismatch', `alg ${alg}, the key is for ${found.alg}`, found)
  }
  if (!holds(family, found, sign1, options.crypto)) {
    return answer('signature_invalid', undefined, found)
  }
  return { ok: true, code: null, kid, alg, sign1, key: found }
}

/** Exactly one key, by its id: trying every key would let any of them speak for any other. */
function lookUp(kid: string | null, keys: readonly PublicKeyRecord[]): PublicKeyRecord | string {
  if (kid === null) return 'no kid in the protected header'
  const matches = keys.filter((key) => key.kid === kid)
  const only = matches[0]
  if (only === undefined) return 'no key of the keyring has this kid'
  return matches.length === 1 ? only : `${matches.length} keys of the keyring have this kid`
}

function holds(family: KeyFamily, key: PublicKeyRecord, sign1: Sign1, crypto: Crypto): boolean {
  const publicKey = fromHex(key.public_key)
  if (publicKey === null) return false
  const message = sigStructure(sign1.protectedBytes, sign1.payload)
  return family === 'ed25519'
    ? crypto.verifyEd25519(publicKey, message, sign1.signature)
    : crypto.verifyES256(publicKey, message, sign1.signature)
}
