import { hex } from '../../core/bytes/hex.js'
import { bytesDigest, textDigest } from '../../core/json/build.js'
import { plainText } from '../../core/json/plain-text.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Parts } from '../context.js'

type Kind = EvidencePart['kind']
type PlainObject = { readonly [name: string]: Plain }

/** A private JSON value: its text is made once, for the digest and for the store. */
export function jsonPart(
  kind: Kind,
  name: string,
  value: Plain,
  { crypto }: Pick<Parts, 'crypto'>,
): EvidencePart {
  const text = plainText(value, 'normalized')
  return { digest: textDigest(text, crypto), kind, name, value, text }
}

/** With a random salt, so that the digest does not help to guess the value. */
export const saltedPart = (
  kind: Kind,
  name: string,
  value: PlainObject,
  parts: Pick<Parts, 'ids' | 'crypto'>,
): EvidencePart => jsonPart(kind, name, { ...value, salt: hex(parts.ids.random(16)) }, parts)

/**
 * The salt is derived from the reason itself: equal refusals of one tenant have equal digests (seed §5.4),
 * and a reason that is disclosed does not help to guess another.
 */
export function reasonPart(
  code: string,
  reason: PlainObject,
  parts: Pick<Parts, 'tenant' | 'crypto'>,
): EvidencePart {
  const tenant_salt = parts.tenant.reasonSalt(plainText(reason, 'normalized'))
  return jsonPart('reason', code, { ...reason, tenant_salt }, parts)
}

/** What a runtime says of its act: its JSON text, because a digest of a value has no room for all numbers. */
export const claimedPart = (
  ok: boolean,
  claimed: string | null,
  parts: Pick<Parts, 'ids' | 'crypto'>,
  more: PlainObject = {},
): EvidencePart =>
  saltedPart(
    'observation',
    'claimed',
    { ...more, ok, ...(claimed === null ? {} : { claimed }) },
    parts,
  )

/** Octets as they are: of a request, of a response, or of a call frozen for a later dispatch. */
export const bytesPart = (
  kind: Kind,
  name: string,
  bytes: Uint8Array,
  { crypto }: Pick<Parts, 'crypto'>,
): EvidencePart => ({ digest: bytesDigest(bytes, crypto), kind, name, bytes })
