import type { Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { transition } from './transition.js'

export type Withdrawal =
  | { readonly kind: 'withdrawn'; readonly actionId: string; readonly capsuleId: string }
  /** Unknown and another's are the same answer: an id is no oracle. */
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'frozen' | 'in_use' | 'over' }

/** The agent takes its own request back: policy's record, nobody decided (DESIGN §6). */
export async function withdraw(
  approvalId: string,
  agent: string,
  parts: Parts,
): Promise<Withdrawal> {
  const actionId = parts.ids.actionId()
  try {
    const asked = await parts.state.approval(approvalId)
    if (asked === null || asked.agent !== agent) return { kind: 'refused', why: 'unknown' }
    const claimed = await parts.state.claim(asked.parent, actionId)
    if (claimed.kind === 'held') return { kind: 'refused', why: 'in_use' }
    const approval = await parts.state.approval(approvalId)
    if (approval === null || approval.state.kind === 'closed' || approval.parent !== asked.parent) {
      return { kind: 'refused', why: 'over' }
    }
    if (haltFor(parts.halts(), approval) !== null) return { kind: 'refused', why: 'frozen' }
    const { capsuleId } = await transition(
      {
        code: 'approval_withdrawn',
        approval,
        actionId,
        at: parts.journal.timestamp(),
        by: { kind: 'policy' },
        record: null,
        evidence: [],
      },
      parts,
    )
    return { kind: 'withdrawn', actionId, capsuleId }
  } finally {
    await parts.state.unclaim(actionId)
  }
}
