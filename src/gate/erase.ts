import { hex } from '../core/hex.js'
import { utf8 } from '../core/text.js'
import type { Evidence } from '../ports.js'
import { signed } from './signed-event.js'
import type { Parts } from './stage.js'

export type ErasureScope = Parameters<Evidence['erase']>[0]

/**
 * Erasing is journalled (DESIGN §5), before and after: a stop in between leaves EVIDENCE_ERASING
 * without EVIDENCE_ERASED, and whoever reads that erases again. Lines are public and stay, so a
 * subject stands there as a salted digest only.
 */
export async function eraseEvidence(
  scope: ErasureScope,
  by: string,
  parts: Pick<Parts, 'journal' | 'evidence' | 'signer' | 'crypto' | 'tenantSalt'>,
): Promise<{ readonly records: number }> {
  const what =
    'subject' in scope
      ? { subject_tag: subjectTag(scope.subject, parts), by }
      : { operator: scope.operator, day: scope.day, by }
  await parts.journal.append([signed('EVIDENCE_ERASING', what, parts)])
  const records = await parts.evidence.erase(scope)
  await parts.journal.append([signed('EVIDENCE_ERASED', { ...what, records }, parts)], {
    urgent: true,
  })
  return { records }
}

/** The same subject has the same tag in one gate; without the gate's salt it cannot be guessed. */
const subjectTag = (
  subject: string,
  { crypto, tenantSalt }: Pick<Parts, 'crypto' | 'tenantSalt'>,
): string => hex(crypto.sha256(utf8(JSON.stringify(['erased-subject', tenantSalt, subject]))))
