import { hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Sha3 } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isObject } from '../json/value.js'
import { dumps, quoteUnicode } from '../python/dumps.js'
import { cpsTime } from './build.js'
import { canonicalText, contentOf, cpsHash, type Input, MOST_DEPTH, type No } from './canonical.js'

export type CpsSigner = {
  /** Lower-case hex, 32 octets. */
  readonly publicKey: string
  /** Ed25519. */
  sign(message: Uint8Array): Uint8Array
}
/** The members of a seal, and the capsule's canonical text: what a bundle has of it. */
export type SealedText = {
  readonly hash: string
  readonly signature: string
  readonly signature_pq: ''
  readonly signed_at: string
  readonly signed_by: string
  readonly canonical: string
}

/** CPS, seal: SHA3-256 of the canonical text, and a signature over its 64 hex digits as text. */
export function sealText(
  canonical: string,
  signer: CpsSigner,
  signedAt: string,
  crypto: Sha3,
): SealedText {
  const hash = cpsHash(canonical, crypto)
  return {
    hash,
    signature: hex(signer.sign(utf8(hash))),
    signature_pq: '',
    signed_at: cpsTime(signedAt),
    signed_by: signer.publicKey.slice(0, 16),
    canonical,
  }
}

/** A capsule's content as JSON, with its seal among the members; whatever seal it had is replaced. */
export function seal(
  json: Input,
  signer: CpsSigner,
  signedAt: string,
  crypto: Sha3,
): { readonly ok: true; readonly json: string; readonly seal: SealedText } | No {
  const parsed = parse(json, { maxDepth: MOST_DEPTH })
  if (!parsed.ok) return { ok: false, code: parsed.code }
  if (!isObject(parsed.value)) return { ok: false, code: 'not_an_object' }
  const content = contentOf(parsed.value)
  const canonical = canonicalText(content)
  if (canonical === null) return { ok: false, code: 'number_without_form' }
  const made = sealText(canonical, signer, signedAt, crypto)
  const { canonical: _, ...members } = made
  const whole = new Map([...content, ...Object.entries(members)])
  // Not JSON.stringify, which would write a confidence of 0.0 as 0.
  return { ok: true, json: dumps(whole, { quote: quoteUnicode }), seal: made }
}
