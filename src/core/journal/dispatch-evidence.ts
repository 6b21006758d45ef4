import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'
import { digest, type Of, only, read, record } from '../json/shape.js'
import type { MembersOf } from './vocabulary.js'

/**
 * What the evidence of a call says of its ACTION_DISPATCHED line, sealed before the first byte leaves. A restart
 * concludes the call from the line only if this vouches for it, because the line alone can be written by anyone who
 * can write to the file. A digest and not the members again: those are most of what a call records before it leaves.
 */
const dispatchEvidence = record({ dispatch: only('gate.dispatch/v1'), members_sha256: digest })
export type DispatchEvidence = Of<typeof dispatchEvidence>

/** `json` is the text of the members as the line has it. */
export const vouchFor = (json: string, crypto: Hashing): DispatchEvidence => ({
  dispatch: 'gate.dispatch/v1',
  members_sha256: textDigest(json, crypto),
})

/** `members` in the order in which the line has them. */
export function vouchesFor(
  value: unknown,
  members: MembersOf<'ACTION_DISPATCHED'>,
  crypto: Hashing,
): boolean {
  const got = read(dispatchEvidence, value)
  return got.ok && got.value.members_sha256 === textDigest(JSON.stringify(members), crypto)
}
