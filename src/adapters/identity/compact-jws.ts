import { type CryptoKey, compactVerify } from 'jose'
import { fromBase64url } from '../../core/bytes/base64url.js'
import { parse } from '../../core/json/parse.js'
import { isObject, type JsonObject } from '../../core/json/value.js'

export type CompactJws =
  | { readonly ok: true; readonly header: JsonObject; readonly payload: JsonObject }
  | { readonly ok: false; readonly why: 'malformed' | 'crit' }

/** Deeper than any chain of actors, and shallow enough for what is kept of it to stand inside other documents. */
const MOST_DEPTH = 32

/**
 * Header and payload of a compact JWS (RFC 7515), nothing verified. Strict base64url and strict JSON: jose would
 * take the last of two members of one name, and a signature in more than one spelling. Extensions in `crit`
 * are not understood here, so none is accepted (§4.1.11).
 */
export function readCompact(token: string): CompactJws {
  const parts = token.split('.')
  const [header, payload] = parts.map(jsonOf)
  const signature = fromBase64url(parts[2] ?? '')
  if (parts.length !== 3 || signature === null || signature.length === 0) return MALFORMED
  if (header === undefined || header === null) return MALFORMED
  if (payload === undefined || payload === null) return MALFORMED
  return header.has('crit') ? { ok: false, why: 'crit' } : { ok: true, header, payload }
}
const MALFORMED: CompactJws = { ok: false, why: 'malformed' }

function jsonOf(part: string, index: number): JsonObject | null {
  const bytes = index < 2 ? fromBase64url(part) : null
  const parsed = bytes === null ? null : parse(bytes, { maxDepth: MOST_DEPTH })
  return parsed?.ok && isObject(parsed.value) ? parsed.value : null
}

/** Whether this key made the signature, by this algorithm; jose throws for whatever does not verify. */
export const isSignedBy = (token: string, key: CryptoKey, alg: string): Promise<boolean> =>
  compactVerify(token, key, { algorithms: [alg] }).then(
    () => true,
    () => false,
  )
