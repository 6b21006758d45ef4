import type { VerdictClass } from '../../core/capsule/registries.js'
import type { IndexedLine } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { storedResponse } from './replay.js'

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

/** Null for another's action and for an unknown one: an id is no oracle. */
export async function ownAction(
  id: string,
  agent: string,
  parts: Pick<Parts, 'state' | 'journal' | 'evidence'>,
): Promise<OwnAction | null> {
  const approval = await parts.state.approval(id)
  if (approval !== null) return approval.agent === agent ? waitingCall(approval, parts) : null
  const lines = await parts.journal.find(id)
  return owns(agent, lines) ? ordinaryCall(id, lines) : null
}

/** A call that was put before a human: how that stands, and what came of it. */
async function waitingCall(
  approval: Approval,
  { journal, evidence }: Pick<Parts, 'journal' | 'evidence'>,
): Promise<OwnAction> {
  const { approvalId, state, parent } = approval
  const closed = state.kind === 'closed' ? state : null
  const capsuleId = closed?.capsuleId ?? parent
  const [line] = await journal.find(capsuleId)
  const found = closed === null ? null : await evidence.byAction(closed.actionId)
  const kept = found?.state === 'present' ? storedResponse(found.value) : null
  return {
    actionId: approvalId,
    state: closed === null ? (state.kind === 'approved' ? 'approved' : 'waiting') : 'concluded',
    verdict: closed?.verdict ?? verdictOf(line),
    capsuleId,
    resultAvailable: kept !== null,
    concluded: closed,
    asked: approval,
  }
}

/** A dispatch line names its agent, and so does a refusal; one that does not has no owner. */
function owns(agent: string, lines: readonly IndexedLine[]): boolean {
  const dispatched = lines.find((line) => line.type === 'ACTION_DISPATCHED')
  if (dispatched !== undefined) return dispatched.agent === agent
  return lines.some((line) => line.type === 'CAPSULE' && line.about?.agent === agent)
}

function ordinaryCall(actionId: string, lines: readonly IndexedLine[]): OwnAction | null {
  // Newest first: an outcome of the same action stands before the action.
  const line = lines
    .filter((found) => found.type === 'CAPSULE')
    .find(({ capsule }) => capsule.action_id === actionId)
  if (line !== undefined) {
    const { capsule_id: capsuleId } = line.capsule
    return {
      actionId,
      state: 'concluded',
      verdict: verdictOf(line),
      capsuleId,
      resultAvailable: line.settles?.replayable === true,
      concluded: { actionId, capsuleId },
      asked: null,
    }
  }
  const sent = lines.some(({ type }) => type === 'ACTION_DISPATCHED')
  const nothing = { verdict: null, capsuleId: null, resultAvailable: false, concluded: null }
  return sent ? { actionId, state: 'in_flight', ...nothing, asked: null } : null
}

const verdictOf = (line: IndexedLine | undefined): VerdictClass | null =>
  line?.type === 'CAPSULE' ? line.capsule.disposition.verdict_class : null
