import { type Deadline, deadlineAt } from '../../core/approval/deadline.js'
import type { TransitionCode } from '../../core/verdict/table.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { signed } from '../signed-event.js'
import { transition } from './transition.js'

/** When something about an item is due, on the wall clock of the records (seed §5.4). */
export function dueAt(approval: Approval): number {
  const deadline = Date.parse(approval.deadline.at)
  return Math.min(deadline, remindAt(approval) ?? deadline)
}

function remindAt({ hitl, reminded, openedAt, state }: Approval): number | null {
  const next = state.kind === 'pending' ? hitl.reminders_seconds[reminded] : undefined
  return next === undefined ? null : Date.parse(openedAt) + next * 1000
}

/**
 * What time does to one item: a reminder, the next rung, or the end. The capsule's own timestamp is
 * past the deadline it states, so that anybody derives the same from the records alone. `false` when
 * somebody else is about to move it: then there is nothing to do yet.
 */
export async function expire(seen: Approval, parts: Parts): Promise<boolean> {
  const actionId = parts.ids.actionId()
  try {
    const claimed = await parts.state.claim(seen.parent, actionId)
    if (claimed.kind === 'held') return false
    const approval = await parts.state.approval(seen.approvalId)
    if (approval === null || approval.state.kind === 'closed' || approval.parent !== seen.parent) {
      return true
    }
    if (haltFor(parts.halts(), approval) !== null) return true
    const at = parts.journal.timestamp()
    const now = Date.parse(at)
    if (now >= Date.parse(approval.deadline.at)) {
      const { code, deadline } = stepOf(approval)
      await transition(
        {
          code,
          approval,
          actionId,
          at,
          by: { kind: 'policy' },
          record: null,
          evidence: [],
          ...(deadline === null ? {} : { deadline }),
        },
        parts,
      )
    } else await remind(approval, now, parts)
    return true
  } finally {
    await parts.state.unclaim(actionId)
  }
}

/** An approval that nobody used is a timeout, whatever its deferral said: somebody did decide (DESIGN §3). */
function stepOf({ state, deadline, hitl, rung }: Approval): {
  code: TransitionCode
  deadline: Deadline | null
} {
  if (state.kind === 'approved') return { code: 'approval_timed_out', deadline: null }
  switch (deadline.onExpiry) {
    case 'timeout':
      return { code: 'approval_timed_out', deadline: null }
    case 'expired':
      return { code: 'approval_expired', deadline: null }
    case 'escalated':
      return { code: 'approval_escalated', deadline: deadlineAt(hitl, rung + 1) }
  }
}

/** However many reminders passed while nobody was there, one is enough. */
async function remind(approval: Approval, now: number, parts: Parts): Promise<void> {
  const { approvalId, openedAt, hitl, reminded, parent, deadline } = approval
  const opened = Date.parse(openedAt)
  const nth = hitl.reminders_seconds.filter((after) => opened + after * 1000 <= now).length
  if (nth <= reminded) return
  const members = { approval_id: approvalId, on: parent, nth, expires_at: deadline.at }
  await parts.journal.append([signed('APPROVAL_REMINDER', members, parts)])
}
