import type { Erasure } from '../core/journal/erasures.js'
import { evidenceDigestsOf } from '../core/journal/evidence-digests.js'
import type { Evidence, Journal } from '../ports.js'

/** A digest of an action's lines whose evidence cannot be shown, and why. */
export type AbsentEvidence = {
  readonly member: string
  readonly digest: string
  readonly state: 'erased' | 'missing' | 'damaged'
  /** The line that erased it. */
  readonly line: { readonly seq: number; readonly at: string } | null
}

/**
 * What of an action's evidence is gone. Records whose key is gone and of which no line says so are missing;
 * undefined stands for a journal that was not read to its end, of which that cannot be said yet.
 */
export async function absentEvidence(
  actionId: string,
  { journal, evidence }: { readonly journal: Pick<Journal, 'find'>; readonly evidence: Evidence },
  erasureOf: (key: string) => Erasure | null | undefined,
): Promise<readonly AbsentEvidence[]> {
  const due = (await journal.find(actionId)).flatMap(evidenceDigestsOf)
  const absent: AbsentEvidence[] = []
  for (const { member, digest } of due) {
    // Opened, not only looked up: changed bytes show when the record is read.
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

/** Why nothing of an action's evidence can be shown, in one sentence. */
export function sayAbsent(absent: readonly AbsentEvidence[]): string {
  const [first] = absent
  if (first === undefined)
    return 'There is no evidence of this action, and none of its lines needs any.'
  const { state, member, line } = first
  const erased = line === null ? '' : ` by line ${line.seq} of ${line.at}`
  const others = absent.length > 1 ? `, and ${absent.length - 1} more` : ''
  return `The evidence of ${member} is ${state}${erased}${others}.`
}
