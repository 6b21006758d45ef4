import type { Crypto, Hashing } from '../crypto/crypto.js'
import { canonicalOf, textDigest } from '../json/build.js'
import type { Plain } from '../json/value.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { checkSignature, type EventCheck } from './event.js'
import { ENVELOPE } from './line.js'
import type { VerificationRecord } from './lines/intent.js'
import { verificationMessage } from './verification.js'
import type { LineOf } from './vocabulary.js'

type Transition = LineOf<'STATE_TRANSITIONED' | 'ACTION_RESULT_RECORDED'>

/** What a verification record says of the line that it is about: SHA-256 of the JCS of its members (§5.5.1). */
export function transitionDigest(line: Transition, crypto: Hashing): string {
  const members: Record<string, Plain> = Object.create(null)
  for (const [name, value] of Object.entries(line)) {
    if (!ENVELOPE.has(name)) members[name] = value as Plain
  }
  return textDigest(canonicalOf(members), crypto)
}

/** The record's own signature, wherever it was taken to. */
export function verifyCommitment(
  { kernel_signature, ...record }: VerificationRecord,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): EventCheck {
  return checkSignature(record.kid, kernel_signature, verificationMessage(record), keys, crypto)
}
