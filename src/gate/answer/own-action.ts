import type { VerdictClass } from '../../core/capsule/registries.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { findAction } from '../find-action.js'
import { keptResponse } from './replay.js'

/** What an agent may know of its own action (DESIGN §7). */
export type OwnAction = {
  readonly actionId: string
  readonly state: 'in_flight' | 'waiting' | 'approved' | 'concluded'
  readonly verdict: VerdictClass | null
  readonly capsuleId: string | null
  readonly resultAvailable: boolean
  /** The action whose response there is to collect, if one was kept. */
  readonly concluded: { readonly actionId: string; readonly capsuleId: string } | null
  /** Where a person was asked about it. */
  readonly asked: Pick<Approval, 'approvalId' | 'deadline' | 'hitl'> | null
}
type Reading = Pick<Parts, 'state' | 'journal' | 'evidence'>

/** Null for another agent's action and for an unknown one alike, so that ids cannot be probed. */
export async function ownAction(
  actionId: string,
  agent: string,
  parts: Reading,
): Promise<OwnAction | null> {
  const approval = await parts.state.approval(actionId)
  if (approval !== null) return approval.agent === agent ? waitingCall(approval, parts) : null
  const lines = await findAction(actionId, parts)
  if (lines === null) return null
  const { dispatched, concluded } = lines
  // A dispatch line names its agent, and so does the line of a refusal.
  if ((dispatched?.agent ?? concluded?.about?.agent) !== agent) return null
  if (concluded === null) {
    const nothing = { verdict: null, capsuleId: null, resultAvailable: false, concluded: null }
    return { actionId, state: 'in_flight', ...nothing, asked: null }
  }
  const { capsule_id: capsuleId, disposition } = concluded.capsule
  return {
    actionId,
    state: 'concluded',
    verdict: disposition.verdict_class,
    capsuleId,
    resultAvailable: concluded.settles?.replayable === true,
    concluded: { actionId, capsuleId },
    asked: null,
  }
}

/** A call that was put before a human. */
async function waitingCall(approval: Approval, parts: Reading): Promise<OwnAction> {
  const { approvalId, state, parent } = approval
  const common = { actionId: approvalId, asked: approval }
  if (state.kind === 'closed') {
    const { capsuleId, verdict, actionId } = state
    const resultAvailable = (await keptResponse(actionId, parts)) !== null
    return { ...common, state: 'concluded', verdict, capsuleId, resultAvailable, concluded: state }
  }
  const [line] = await parts.journal.find(parent)
  return {
    ...common,
    state: state.kind === 'approved' ? 'approved' : 'waiting',
    verdict: line?.type === 'CAPSULE' ? line.capsule.disposition.verdict_class : null,
    capsuleId: parent,
    resultAvailable: false,
    concluded: null,
  }
}
