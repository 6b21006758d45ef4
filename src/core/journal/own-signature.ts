import { fromBase64url } from '../bytes/base64url.js'
import { utf8 } from '../bytes/text.js'
import type { Crypto } from '../crypto/crypto.js'
import { canonicalOf } from '../json/build.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { toCose } from '../statement/sign1.js'
import { verifySign1 } from '../statement/verify-sign1.js'
import { verifyCommitment } from './commitment.js'
import { verifyEvent } from './event.js'
import { isSignedType, type JournalLine, readLine } from './vocabulary.js'

/**
 * What is wrong with a line by the signature it carries itself: a capsule's statement, an event's, or that of
 * a verification record. Null where
 * nothing is, and for types without one: those a head covers.
 */
export function ownSignatureFault(
  raw: JournalLine,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): string | null {
  if (isSignedType(raw.type)) {
    const check = verifyEvent(raw, keys, crypto)
    return check.ok ? null : check.code
  }
  const line = readLine(raw)
  if (line?.type === 'IDP_COMMITMENT_VERIFIED' || line?.type === 'IDP_COMMITMENT_GAP') {
    const check = verifyCommitment(line.record, keys, crypto)
    return check.ok ? null : check.code
  }
  if (line?.type !== 'CAPSULE') return null
  const header = fromBase64url(line.protected)
  const signature = fromBase64url(line.signature)
  if (header === null || signature === null) return 'malformed'
  const cose = toCose(utf8(canonicalOf(line.capsule)), header, signature)
  return verifySign1(cose, { keys, crypto }).code
}
