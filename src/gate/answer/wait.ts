import type { Call } from '../../core/call/call.js'
import type { TransitionCode } from '../../core/verdict/table.js'
import type { Identified } from '../../ports/identity.js'
import type { Line } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import { pendingDetails } from '../approval/ask.js'
import type { Parts } from '../context.js'
import type { Details } from '../govern/exit.js'
import { type Answer, type Refusal, refusal, type Waiting, waiting } from './answer.js'
import { collect } from './collect.js'

/** The longest that `Prefer: wait` holds a connection (DESIGN §3). */
const MOST_SECONDS = 20

/**
 * The 202 is on record; waits a little for the decision. Approved: the same request goes on as its own retry,
 * unless its caller has gone: then the grant is left for a later retry. Refused or over: the answer names
 * the capsule that ended the item. Otherwise the caller gets the 202.
 */
export async function afterWaiting(
  pending: Waiting,
  call: Call,
  parts: Parts,
  govern: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const { approvalId: id, caller } = pending
  const approval = await decided(id, Math.min(call.waitSeconds, MOST_SECONDS) * 1000, parts)
  const { declared } = pending
  const own = declared === undefined ? {} : { declared }
  const retry = { ...call, ...own, approvalId: id, waitSeconds: 0 }
  if (approval === null) return pending
  const { state } = approval
  switch (state.kind) {
    case 'pending':
      return pending
    case 'approved':
      return approval.hitl.on_approval === 'retry' && call.callerLeft?.() !== true
        ? govern(retry)
        : stillWaiting('pending', approval, caller)
    case 'closed':
      return (await closedAnswer(approval, state, call, caller, parts)) ?? govern(retry)
  }
}

/** Resolves when the approval is decided, or when the time is over. */
async function decided(id: string, ms: number, parts: Parts): Promise<Approval | null> {
  const read = (): Promise<Approval | null> => parts.state.approval(id)
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      stop()
      cancel()
      read().then(resolve, reject)
    }
    const look = (): void => {
      read().then((approval) => {
        if (isDecided(approval)) finish()
      }, reject)
    }
    const stop = parts.subscribe((line) => {
      if (isAbout(line, id)) look()
    })
    const cancel = parts.timer.after(ms, finish)
    look()
  })
}

/** Where the gate itself sends what was approved, the caller waits for the end of that. */
const isDecided = (approval: Approval | null): boolean =>
  approval === null ||
  approval.state.kind === 'closed' ||
  (approval.state.kind === 'approved' && approval.hitl.on_approval === 'retry')

function isAbout(line: Line, id: string): boolean {
  switch (line.type) {
    case 'GRANT_ISSUED':
      return line.standing !== true && line.approval_id === id
    case 'CAPSULE':
      return line.capsule.chain !== undefined
    default:
      return false
  }
}

/** What is on record already; the ids are the item's. */
export function stillWaiting(
  kind: Waiting['kind'],
  { approvalId, opened, state, deadline }: Approval,
  caller: Identified,
  own: Pick<Waiting, 'declared'> = {},
): Waiting {
  const at = state.kind === 'approved' ? 'approved' : 'pending'
  const ids = { actionId: approvalId, capsuleId: opened }
  const details = pendingDetails(approvalId, at, deadline.at)
  return { ...waiting(kind, approvalId, ids, details, caller), ...own }
}

/** The ids are those of the person's refusal. */
export function refusedBefore(
  { approvalId: approval_id, state }: Approval,
  caller: Identified,
  timestamp: string,
): Refusal {
  if (state.kind !== 'closed') throw new TypeError('what was refused is over')
  return closedRefusal('approval_refused', { approval_id, timestamp }, state, caller)
}

const closedRefusal = (
  code: TransitionCode,
  details: Details,
  { actionId, capsuleId }: Closed,
  caller: Identified,
): Refusal => refusal(code, { actionId, capsuleId }, details, caller)

type Closed = Extract<Approval['state'], { kind: 'closed' }>

/** How the item ended, where that answers this caller; null where the call has to be judged again. */
async function closedAnswer(
  approval: Approval,
  state: Closed,
  call: Call,
  caller: Identified,
  parts: Parts,
): Promise<Answer | null> {
  const code = closureCode(approval, state)
  if (code !== null) {
    const details = { approval_id: approval.approvalId, timestamp: parts.journal.timestamp() }
    return closedRefusal(code, details, state, caller)
  }
  if (approval.hitl.on_approval !== 'dispatch' || caller.kind === 'unknown') return null
  return collect(call, caller, state, parts)
}

/** Null when a call ended it: its own record says how. */
function closureCode(
  { votes, decided }: Approval,
  { verdict, approver }: Closed,
): TransitionCode | null {
  switch (verdict) {
    case 'resolved':
      return approver === 'human' || decided !== null || votes.length > 0
        ? 'approval_refused'
        : 'approval_withdrawn'
    case 'expired':
      return 'approval_expired'
    case 'timeout':
      return 'approval_timed_out'
    default:
      return null
  }
}
