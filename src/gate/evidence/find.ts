import { isHex64 } from '../../core/bytes/hex.js'
import type { Erasure } from '../../core/journal/erasures.js'
import { type EvidenceDigest, evidenceDigestsOf } from '../../core/journal/evidence-digests.js'
import type { Line } from '../../core/journal/vocabulary.js'
import type { Evidence, EvidencePart, Found } from '../../ports/evidence.js'
import type { Parts } from '../context.js'

/** The parts of an action's records, or the one part that a line names by its digest. */
export async function findEvidence(
  id: string,
  evidence: Pick<Evidence, 'byAction' | 'byDigest'>,
): Promise<Found<readonly EvidencePart[]>> {
  if (!isHex64(id)) return evidence.byAction(id)
  const found = await evidence.byDigest(id)
  return found.state === 'present' ? { state: 'present', value: [found.value] } : found
}

/** A digest whose evidence cannot be shown, and why. */
export type AbsentEvidence = {
  readonly member: string
  readonly digest: string
  readonly state: 'erased' | 'missing' | 'damaged'
  /** The line that erased it. */
  readonly line: { readonly seq: number; readonly at: string } | null
}

/** The evidence that a line must have, if it is about this action or grant, or names this digest. */
export function dueIn(line: Line, id: string): readonly EvidenceDigest[] {
  const due = evidenceDigestsOf(line)
  if (isHex64(id)) return due.filter(({ digest }) => digest === id)
  return isAbout(line, id) ? due : []
}

function isAbout(line: Line, id: string): boolean {
  switch (line.type) {
    case 'CAPSULE':
      return line.capsule.action_id === id
    case 'APPROVAL_OPENED':
    case 'APPROVAL_VOTED':
    case 'REFUSAL_LIFTED':
      return line.approval_id === id
    case 'GRANT_ISSUED':
      return line.grant === id
    default:
      return false
  }
}

/**
 * The same without reading the whole journal: from the action's indexed lines and from the approval while the
 * state has it. Lines are not indexed by the digests they name, so a digest is due only where the store has it.
 */
export async function knownDue(
  id: string,
  { journal, evidence, state }: Pick<Parts, 'journal' | 'evidence' | 'state'>,
): Promise<readonly EvidenceDigest[]> {
  if (isHex64(id)) {
    const { state: found } = await evidence.byDigest(id)
    return found === 'missing' ? [] : [{ member: 'this digest', digest: id }]
  }
  const due = (await journal.find(id)).flatMap((line) => dueIn(line, id))
  const approval = await state.approval(id)
  if (approval === null) return due
  const { documentDigest, votes } = approval
  return [
    ...due,
    { member: 'document_digest', digest: documentDigest },
    ...votes.map((vote) => ({ member: 'evidence_digest', digest: vote.evidenceDigest })),
  ]
}

/**
 * Which of the due evidence cannot be read. A record whose key is gone counts as missing if no line erased it.
 * `erasureOf` returns undefined while the journal has not been read to its end: then it stays `erased`.
 */
export async function absentEvidence(
  due: readonly EvidenceDigest[],
  evidence: Pick<Evidence, 'byDigest' | 'inIndex'>,
  erasureOf: (key: string) => Erasure | null | undefined,
): Promise<readonly AbsentEvidence[]> {
  const absent: AbsentEvidence[] = []
  // Each vote names the document again.
  const members = new Map(due.map(({ member, digest }) => [digest, member]))
  for (const [digest, member] of members) {
    // Decrypted, not only looked up: changed bytes show when the record is read.
    const found = await evidence.byDigest(digest)
    if (found.state === 'present') continue
    const [indexed] = found.state === 'erased' ? await evidence.inIndex([digest]) : []
    const by = indexed?.state === 'erased' ? erasureOf(indexed.key) : null
    const state = found.state === 'erased' && by === null ? 'missing' : found.state
    const line = by == null ? null : { seq: by.seq, at: by.at }
    absent.push({ member, digest, state, line })
  }
  return absent
}

/** Why nothing can be shown, in one sentence. */
export function describeAbsent(id: string, absent: readonly AbsentEvidence[]): string {
  const [first] = absent
  if (first === undefined) {
    return isHex64(id)
      ? 'No record has this digest. Where a line names it, its evidence is missing: `capsule-gate ledger verify --evidence` tells.'
      : 'There is no evidence of this action, and none of its lines needs any.'
  }
  const { state, member, line } = first
  const erased = line === null ? '' : ` by line ${line.seq} of ${line.at}`
  const others = absent.length > 1 ? `, and ${absent.length - 1} more` : ''
  return `The evidence of ${member} is ${state}${erased}${others}.`
}
