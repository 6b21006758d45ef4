import type { ErasureScope } from '../../ports/evidence.js'
import { signed } from '../signed-event.js'
import { type Acting, recordActor } from './actor.js'

export type { ErasureScope }

/**
 * Erasing is journalled (DESIGN §5), before and after: a stop in between leaves EVIDENCE_ERASING
 * without EVIDENCE_ERASED, and that erasure has to be ordered again. Lines are public and stay, so they
 * have only pseudonyms of subject and actor. Both lines name the key, which distinguishes an erasure from a
 * key that an intruder destroyed on disk.
 */
export async function eraseEvidence(
  scope: ErasureScope,
  by: string,
  parts: Acting,
): Promise<{ readonly records: number }> {
  const key = await parts.evidence.keyOf(scope)
  const named = key === null ? {} : { key }
  const what =
    'subject' in scope
      ? { subject_tag: parts.tenant.subjectTag(scope.subject), ...named }
      : { operator: scope.operator, day: scope.day, ...named }
  // The subject's name must be gone afterwards: the record of who erased it has the tag too.
  const who = await recordActor(by, { did: 'ERASE', scope: what }, parts)
  await parts.journal.append([signed('EVIDENCE_ERASING', { ...what, ...who }, parts)])
  const records = await parts.evidence.erase(scope)
  const names = key === null ? {} : { names_digest: await parts.evidence.namesUnder(key) }
  const erased = { ...what, ...who, ...names, records }
  await parts.journal.append([signed('EVIDENCE_ERASED', erased, parts)], { urgent: true })
  return { records }
}
