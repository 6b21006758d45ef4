import type { EvidencePart, EvidenceRecord } from '../../ports/evidence.js'
import type { Known, Parts } from '../context.js'
import { saltedPart } from './parts.js'

/**
 * One evidence record of a call, encrypted under the subject's key where the manifest names a subject. The
 * subject is also kept inside, so that later records about the call can be encrypted under the same key.
 */
export function evidenceRecord(
  { actionId, world, at, rule, args }: Known,
  evidence: readonly EvidencePart[],
  parts: Pick<Parts, 'ids' | 'crypto'>,
): EvidenceRecord {
  const named = rule?.subject === undefined ? undefined : args?.get(rule.subject)
  const subject = named === undefined ? null : String(named.value)
  const kept = subject === null ? [] : [saltedPart('subject', 'subject', { subject }, parts)]
  return { actionId, operator: world.operator, subject, at, parts: [...evidence, ...kept] }
}

/**
 * The subject of an earlier action, read from its evidence because the manifest may have changed since. Null
 * where there was none, where it is erased already, and for actions of 0.1.
 */
export async function subjectOf(
  actionId: string,
  { evidence }: Pick<Parts, 'evidence'>,
): Promise<string | null> {
  const found = await evidence.byAction(actionId)
  const part =
    found.state === 'present' ? found.value.find(({ kind }) => kind === 'subject') : undefined
  const value = part?.value
  return typeof value === 'object' && value !== null && 'subject' in value
    ? String(value.subject)
    : null
}

/** A vote or its withdrawal, kept with the evidence of the approval it is about: no capsule names it. */
export async function putBeside(
  { approvalId: actionId, operator }: { readonly approvalId: string; readonly operator: string },
  part: EvidencePart,
  parts: Pick<Parts, 'evidence' | 'journal'>,
): Promise<void> {
  const subject = await subjectOf(actionId, parts)
  const at = parts.journal.timestamp()
  await parts.evidence.put({ actionId, operator, subject, at, parts: [part] })
}
