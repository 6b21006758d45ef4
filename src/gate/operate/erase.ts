import type { ErasureScope } from '../../ports/evidence.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

export type { ErasureScope }

/**
 * Erasing is journalled (DESIGN §5), before and after: a stop in between leaves EVIDENCE_ERASING
 * without EVIDENCE_ERASED, and that erasure has to be ordered again. Lines are public and stay, so
 * subject and actor stand there as pseudonyms only. Both lines name the key, so that what went dark on
 * purpose can be told from a key that was destroyed by someone who can write to the disk.
 */
export async function eraseEvidence(
  scope: ErasureScope,
  by: string,
  parts: Pick<Parts, 'journal' | 'evidence' | 'signer' | 'crypto' | 'ids' | 'tenant'>,
): Promise<{ readonly records: number }> {
  const key = await parts.evidence.keyOf(scope)
  const named = key === null ? {} : { key }
  const what =
    'subject' in scope
      ? { subject_tag: parts.tenant.subjectTag(scope.subject), ...named }
      : { operator: scope.operator, day: scope.day, ...named }
  // The subject's name is what has to go: the record of who erased it says the tag, as the line does.
  const who = await recordActor(by, { did: 'ERASE', scope: what }, parts)
  await parts.journal.append([signed('EVIDENCE_ERASING', { ...what, ...who }, parts)])
  const records = await parts.evidence.erase(scope)
  const names = key === null ? {} : { names_digest: await parts.evidence.namesUnder(key) }
  const erased = { ...what, ...who, ...names, records }
  await parts.journal.append([signed('EVIDENCE_ERASED', erased, parts)], { urgent: true })
  return { records }
}
