import type { Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { claimItem } from './claim-item.js'
import { transition } from './transition.js'

export type Withdrawal =
  | { readonly kind: 'withdrawn'; readonly actionId: string; readonly capsuleId: string }
  /** `unknown` also for another agent's, so that ids cannot be probed. */
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'frozen' | 'in_use' | 'over' }

/** The agent takes its own request back. The record is policy's: no person decided (DESIGN §6). */
export async function withdraw(
  approvalId: string,
  agent: string,
  parts: Parts,
): Promise<Withdrawal> {
  const actionId = parts.ids.actionId()
  try {
    const asked = await parts.state.approval(approvalId)
    if (asked === null || asked.agent !== agent) return { kind: 'refused', why: 'unknown' }
    // The gate asks, not the agent: it cannot take that back.
    if (asked.holds === 'session') return { kind: 'refused', why: 'frozen' }
    const approval = await claimItem(asked, actionId, parts)
    if (approval === 'held') return { kind: 'refused', why: 'in_use' }
    if (approval === 'moved') return { kind: 'refused', why: 'over' }
    if (haltFor(parts.halts(), approval) !== null) return { kind: 'refused', why: 'frozen' }
    const at = parts.journal.timestamp()
    const step = { code: 'approval_withdrawn', approval, actionId, at } as const
    return { kind: 'withdrawn', actionId, ...(await transition(step, parts)) }
  } finally {
    await parts.state.unclaim(actionId)
  }
}
