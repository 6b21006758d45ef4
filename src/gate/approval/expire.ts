import { deadlineAt } from '../../core/approval/deadline.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { signed } from '../signed-event.js'
import { claimItem } from './claim-item.js'
import { type Transition, transition } from './transition.js'

/** When an item is due next, for a reminder or its deadline, on the wall clock of the records (seed §5.4). */
export function dueAt(approval: Approval): number {
  const deadline = Date.parse(approval.deadline.at)
  return Math.min(deadline, remindAt(approval) ?? deadline)
}

function remindAt({ hitl, reminded, openedAt, state }: Approval): number | null {
  const next = state.kind === 'pending' ? hitl.reminders_seconds[reminded] : undefined
  return next === undefined ? null : Date.parse(openedAt) + next * 1000
}

/**
 * What time does to one item: a reminder, the next rung, or the end, which is also that of its session. The capsule's own timestamp is past the
 * deadline it states, so that the same follows from the records alone. `false`: another action holds the
 * item, and nothing was done.
 */
export async function expire(seen: Approval, parts: Parts): Promise<boolean> {
  const actionId = parts.ids.actionId()
  try {
    const { holds, sessionId } = seen
    // As for a decision: one thing at a time ends the session.
    const session =
      holds === 'session' ? await parts.state.claim(`session ${sessionId}`, actionId) : null
    const approval = session?.kind === 'held' ? 'held' : await claimItem(seen, actionId, parts)
    if (approval === 'held') return false
    if (approval === 'moved' || haltFor(parts.halts(), approval) !== null) return true
    const at = parts.journal.timestamp()
    if (await isPointless(approval, parts)) {
      await transition({ code: 'approval_withdrawn', approval, actionId, at }, parts)
    } else if (Date.parse(at) >= Date.parse(approval.deadline.at)) {
      const step = stepOf(approval)
      await transition({ approval, actionId, at, ...step, ...ending(approval, step, parts) }, parts)
    } else {
      await remind(approval, Date.parse(at), parts)
    }
    return true
  } finally {
    await parts.state.unclaim(actionId)
  }
}

/** Its session is over: nothing of it is sent, whatever people decide. */
export const isPointless = async (
  { sessionId }: Approval,
  { state }: Pick<Parts, 'state'>,
): Promise<boolean> => sessionId !== undefined && (await state.isOver(sessionId))

/** A grant that was not used is a timeout, also after a deferral: a decision was made (DESIGN §3). */
function stepOf({ state, deadline, hitl, rung }: Approval): Pick<Transition, 'code' | 'deadline'> {
  if (state.kind === 'approved') return { code: 'approval_timed_out' }
  switch (deadline.onExpiry) {
    case 'timeout':
      return { code: 'approval_timed_out' }
    case 'expired':
      return { code: 'approval_expired' }
    case 'escalated':
      return { code: 'approval_escalated', deadline: deadlineAt(hitl, rung + 1) }
  }
}

/** A session that nobody decided about does not go on. */
function ending(
  { holds, sessionId: session_id = '' }: Approval,
  { code }: Pick<Transition, 'code'>,
  parts: Parts,
): Pick<Transition, 'events'> {
  if (holds !== 'session' || code === 'approval_escalated') return {}
  return { events: [signed('SESSION_CLOSED', { session_id, reason: 'unanswered' }, parts)] }
}

/** One reminder is enough, however many passed while the gate was down. */
async function remind(approval: Approval, now: number, parts: Parts): Promise<void> {
  const { approvalId, openedAt, hitl, reminded, parent, deadline } = approval
  const opened = Date.parse(openedAt)
  const nth = hitl.reminders_seconds.filter((after) => opened + after * 1000 <= now).length
  if (nth <= reminded) return
  const members = { approval_id: approvalId, on: parent, nth, expires_at: deadline.at }
  await parts.journal.append([signed('APPROVAL_REMINDER', members, parts)])
}
