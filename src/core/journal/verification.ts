import { base64url } from '../bytes/base64url.js'
import { hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import { canonicalOf } from '../json/build.js'
import type { SigningKey } from '../statement/sign.js'
import type { VerificationRecord } from './lines/intent.js'

/** A record of a verification with nothing left to decide but the key. */
export type VerificationToSign<R extends VerificationRecord = VerificationRecord> =
  R extends VerificationRecord ? Omit<R, 'kid' | 'kernel_signature'> : never

/** What `kernel_signature` is over: the canonical form of every other member (seed §5.5.1). */
export const verificationMessage = (record: Omit<VerificationRecord, 'kernel_signature'>) =>
  utf8(canonicalOf({ ...record }))

/** Ed25519, by the key that the record then names. */
export function signVerification<R extends VerificationToSign>(
  unsigned: R,
  { kid, sign }: SigningKey,
): R & Pick<VerificationRecord, 'kid' | 'kernel_signature'> {
  const record = { ...unsigned, kid: hex(kid) }
  return { ...record, kernel_signature: base64url(sign(verificationMessage(record))) }
}
