import { meets, rolesAt } from '../../../core/approval/deadline.js'
import type { Approval, Claimed, Vote } from '../../../ports/state.js'
import type { Parts } from '../../context.js'
import { haltFor } from '../../operate/halt.js'
import { signed } from '../../signed-event.js'
import {
  type Decision,
  FROZEN,
  isOwnRequest,
  type Outcome,
  OWN_REQUEST,
  type Resolution,
  refused,
  UNKNOWN,
} from './model.js'
import { type Recording, recordApprove, recordDefer, recordDeny } from './record.js'

const BUSY_MS = 10_000

/**
 * A decision of a person or a machine. Each parent gets one outcome, of however many arrive at once: a claim
 * on it is held from the last read until the line is durable. A decision that comes second is recorded and refused.
 */
export async function resolve(decision: Decision, parts: Parts): Promise<Resolution> {
  const actionId = parts.ids.actionId()
  try {
    for (;;) {
      const approval = await parts.state.approval(decision.approvalId)
      if (approval === null) return UNKNOWN
      const barred = bar(approval, decision, parts)
      if (barred !== null) return barred
      const before = repeated(approval, decision, parts)
      if (before !== null) return before
      const { sessionId } = approval
      if (sessionId !== undefined && (await parts.state.isOver(sessionId))) return SESSION_OVER
      const late = lateness(approval, decision)
      if (late !== null) return await lost(approval, decision, late, parts)
      const claimed = await claim(approval, actionId, parts)
      if (claimed.kind === 'held') {
        if (!(await settledSoon(claimed.settled, parts))) return BUSY
        continue
      }
      const now = await parts.state.approval(approval.approvalId)
      const halted = haltFor(parts.halts(), approval) !== null
      const over = sessionId !== undefined && (await parts.state.isOver(sessionId))
      if (now === approval && !halted && !over) {
        return await record({ approval, decision, actionId }, parts)
      }
      await parts.state.unclaim(actionId)
    }
  } catch (error) {
    parts.report({ level: 'error', event: 'decision_not_recorded', detail: String(error) })
    return refused('record_unavailable', 'the decision could not be recorded; nothing changed')
  } finally {
    await parts.state.unclaim(actionId)
  }
}

/** Of two requests about one session the second is decided when the first has been: it may have ended the session. */
async function claim(
  { holds, sessionId, parent }: Approval,
  actionId: string,
  { state }: Parts,
): Promise<Claimed> {
  const session = holds === 'session' ? await state.claim(`session ${sessionId}`, actionId) : null
  return session?.kind === 'held' ? session : state.claim(parent, actionId)
}

const SESSION_OVER = refused(
  'already_decided',
  'the session it is about is over, and nothing of it is sent any more',
)
const BUSY = refused('busy', 'the request is being concluded; try again')

function record(recording: Recording, parts: Parts): Promise<Resolution> {
  const { outcome } = recording.decision
  switch (outcome.kind) {
    case 'approve':
      return recordApprove(recording, parts)
    case 'deny':
      return recordDeny(recording, parts)
    case 'defer':
      return recordDefer(recording, outcome, parts)
  }
}

/** Checked in this order: halted, another document, the decider's role and assurance, what the decider may decide. */
function bar(approval: Approval, decision: Decision, parts: Parts): Resolution | null {
  const { decider, outcome } = decision
  if (haltFor(parts.halts(), approval) !== null) return FROZEN
  if (decision.documentDigest !== approval.documentDigest) {
    return refused('digest_mismatch', 'what was decided on is not what is asked')
  }
  const asked = rolesAt(approval.hitl, approval.rung)
  if (!decider.roles.some((role) => asked.includes(role))) {
    return refused('role', `one of these is asked: ${asked.join(', ')}`)
  }
  if (decider.kind === 'person' && !meets(decider.assurance, approval.hitl.min_assurance)) {
    return refused('assurance', `${approval.hitl.min_assurance} or better is needed`)
  }
  if (isOwnRequest(decider, approval)) return OWN_REQUEST
  if (decider.kind === 'machine' && isForPeople(approval, outcome)) {
    return refused('people_only', 'only people can decide this, or in this way')
  }
  if (outcome.kind === 'deny' && outcome.reason.trim() === '') {
    return refused('reason_required', 'a refusal says why')
  }
  return null
}

/**
 * A quorum above one and a deferral need people (seed §5.4.1), and a machine has no assurance above L1. What a
 * session waits for is a person's judgement (seed intent-declaration-primitive-01 §4.4).
 */
const isForPeople = ({ hitl, holds }: Approval, { kind }: Outcome): boolean =>
  holds !== undefined || kind === 'defer' || hitl.quorum > 1 || hitl.min_assurance !== 'L1'

/** The result of the same decision, where it was delivered before. */
function repeated(approval: Approval, decision: Decision, parts: Parts): Resolution | null {
  const isOwn = (vote: Vote): boolean => parts.tenant.isVoter(vote.voter, decision.decider.name)
  const { kind } = decision.outcome
  const { state, votes, hitl, decided } = approval
  const own = votes.find(isOwn)
  const recorded = {
    kind: 'recorded',
    repeated: true,
    votes: votes.length,
    quorum: hitl.quorum,
  } as const
  if (own !== undefined && kind === 'approve') {
    return state.kind === 'closed' ? null : { ...recorded, state: state.kind, capsuleId: null }
  }
  if (own !== undefined && state.kind === 'pending') {
    return refused('already_voted', 'you have approved this request', 'approve')
  }
  if (decided === null || !isOwn(decided) || decided.outcome !== kind) return null
  if (kind === 'deny' && state.kind === 'closed') {
    return { ...recorded, state: 'refused', capsuleId: state.capsuleId }
  }
  return kind === 'defer' && state.kind === 'pending' && sawEarlier(decided, decision)
    ? { ...recorded, state: 'deferred', capsuleId: approval.parent }
    : null
}

const sawEarlier = (decided: Vote, { on }: Decision): boolean =>
  on === undefined || on === decided.line.on

/** How the item stands when this decision comes too late for it, or null. */
function lateness(approval: Approval, { on }: Decision): string | null {
  const { state } = approval
  if (state.kind === 'approved') return 'approved'
  if (state.kind === 'closed') return state.verdict
  if (on === undefined || on === approval.parent) return null
  return approval.decided?.outcome === 'defer' ? 'deferred' : 'escalated'
}

async function lost(
  approval: Approval,
  { decider, outcome }: Decision,
  first: string,
  parts: Parts,
): Promise<Resolution> {
  const { approvalId, parent } = approval
  const voter = parts.tenant.voter(decider.name)
  const members = { approval_id: approvalId, on: parent, voter, outcome: outcome.kind, first }
  await parts.journal.append([signed('DECISION_LOST', members, parts)])
  return refused('already_decided', `it stands as ${first}`, first)
}

function settledSoon(settled: Promise<void>, { timer }: Parts): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = timer.after(BUSY_MS, () => resolve(false))
    void settled.then(() => {
      cancel()
      resolve(true)
    })
  })
}
