import type { Call } from '../../core/call/call.js'
import type { TransitionCode } from '../../core/verdict/table.js'
import type { Identified } from '../../ports/identity.js'
import type { Line } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import { pendingTell } from '../approval/open.js'
import type { Parts } from '../context.js'
import { type Answer, type Refusal, refusal, type Waiting, waiting } from './answer.js'
import { collect } from './collect.js'

/** `Prefer: wait` is a courtesy, not a lease: more than this no caller holds a connection (DESIGN §3). */
const MOST_SECONDS = 20

/**
 * The 202 is durable; now wait a little for the decision. Approved: the same request goes on as its own
 * retry, unless its caller has gone: then the grant is left for a retry that somebody sends. Refused or
 * over: the answer names the capsule that ended it. Otherwise the 202 after all.
 */
export async function afterWaiting(
  pending: Waiting,
  call: Call,
  parts: Parts,
  govern: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const { approvalId: id, caller } = pending
  const approval = await decided(id, Math.min(call.waitSeconds, MOST_SECONDS) * 1000, parts)
  const retry = { ...call, approvalId: id, waitSeconds: 0 }
  switch (approval?.state.kind) {
    case undefined:
    case 'pending':
      return pending
    case 'approved':
      return approval.hitl.on_approval === 'retry' && call.callerLeft?.() !== true
        ? govern(retry)
        : stillWaiting('pending', approval, caller)
    case 'closed':
      return (await closedAnswer(approval, call, caller, parts)) ?? govern(retry)
  }
}

/** Resolves when the approval is decided, or when the time is over. */
async function decided(id: string, ms: number, parts: Parts): Promise<Approval | null> {
  const read = (): Promise<Approval | null> => parts.state.approval(id)
  const isDecided = (approval: Approval | null): boolean => {
    if (approval === null || approval.state.kind === 'closed') return true
    // Where the gate itself sends what was approved, the end is what the caller waits for.
    return approval.state.kind === 'approved' && approval.hitl.on_approval === 'retry'
  }
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      stop()
      cancel()
      read().then(resolve, reject)
    }
    const stop = parts.subscribe((line) => {
      if (isAbout(line, id)) {
        read().then((approval) => {
          if (isDecided(approval)) finish()
        }, reject)
      }
    })
    const cancel = parts.timer.after(ms, finish)
    read().then((approval) => {
      if (isDecided(approval)) finish()
    }, reject)
  })
}

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

/** The caller is told again what is already on record; the ids are the item's. */
export function stillWaiting(
  kind: Waiting['kind'],
  { approvalId, opened, state, deadline }: Approval,
  caller: Identified,
): Waiting {
  const at = state.kind === 'approved' ? 'approved' : 'pending'
  const ids = { actionId: approvalId, capsuleId: opened }
  return waiting(kind, approvalId, ids, pendingTell(approvalId, at, deadline.at), caller)
}

/** The ids are those of the person's refusal. */
export function refusedBefore({ approvalId, state }: Approval, caller: Identified): Refusal {
  if (state.kind !== 'closed') throw new TypeError('what was refused is over')
  const { actionId, capsuleId } = state
  return refusal('approval_refused', { actionId, capsuleId }, { approval_id: approvalId }, caller)
}

/** How the item ended, where that is an answer to this caller; null where the caller has to ask anew. */
async function closedAnswer(
  approval: Approval,
  call: Call,
  caller: Identified,
  parts: Parts,
): Promise<Answer | null> {
  const { state } = approval
  if (state.kind !== 'closed') return null
  const { actionId, capsuleId } = state
  const code = closureCode(approval)
  const tell = { approval_id: approval.approvalId }
  if (code !== null) return refusal(code, { actionId, capsuleId }, tell, caller)
  if (approval.hitl.on_approval !== 'dispatch' || caller.kind === 'unknown') return null
  return collect(call, caller, { actionId, capsuleId }, parts)
}

/** Null when a call ended it: its own record says how. */
function closureCode({ state, votes, decided }: Approval): TransitionCode | null {
  if (state.kind !== 'closed') return null
  switch (state.verdict) {
    case 'resolved':
      return state.approver === 'human' || decided !== null || votes.length > 0
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
