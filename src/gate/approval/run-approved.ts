import type { ReadCall } from '../../core/call/call.js'
import type { Dispatch } from '../../ports/dispatch.js'
import type { Approval } from '../../ports/state.js'
import type { Answer } from '../answer/answer.js'
import type { Parts } from '../context.js'
import { thaw } from '../evidence/thaw.js'
import { refuse } from '../govern/exit.js'
import { judge } from '../govern/govern.js'
import { open } from '../govern/open.js'
import { record } from '../govern/record.js'
import { closing } from './find.js'

/** How a mount sends a call whose caller is no longer there. Null: it cannot. */
export type BackgroundDispatch = (call: ReadCall) => Dispatch | null

/**
 * `on_approval: dispatch`: the frozen call runs the pipeline again from `match`, under the policies,
 * constraints and halts of now; what comes back is kept in evidence for the agent to collect. An agent
 * that is gone, or has lost a role it had when it asked, has nothing sent for it.
 */
export async function runApproved(
  approval: Approval,
  dispatchOf: BackgroundDispatch,
  parts: Parts,
): Promise<Answer | null> {
  if (approval.state.kind !== 'approved' || approval.hitl.on_approval !== 'dispatch') return null
  const frozen = await thaw(approval, parts)
  const dispatch = frozen === null ? null : dispatchOf(frozen.call)
  if (frozen === null || dispatch === null) {
    const actionId = approval.approvalId
    parts.report({ level: 'error', event: 'approved_not_dispatched', actionId })
    return null
  }
  const opened = open(frozen.call, frozen.agent, parts)
  if (parts.identity.isStillKnown(frozen.agent)) return judge(opened, dispatch, parts)
  // Closed by its refusal, so that no later start tries again.
  const known = await closing(opened, approval, parts)
  return record(refuse(known, 'unauthenticated', { observed: 'agent_gone' }), parts)
}

/** Runs what was approved as soon as the mount has said how; also what an earlier process was told. */
export function createBackground(parts: Parts) {
  let dispatchOf: BackgroundDispatch | null = null
  const running = new Set<Promise<void>>()

  async function run(approvalId: string, how: BackgroundDispatch): Promise<void> {
    try {
      const approval = await parts.state.approval(approvalId)
      if (approval !== null) await runApproved(approval, how, parts)
    } catch (error) {
      const detail = String(error)
      parts.report({
        level: 'error',
        event: 'approved_not_dispatched',
        actionId: approvalId,
        detail,
      })
    }
  }
  function start(approvalId: string): void {
    if (dispatchOf === null) return
    const started = run(approvalId, dispatchOf).finally(() => running.delete(started))
    running.add(started)
  }
  return {
    start,
    async register(how: BackgroundDispatch): Promise<void> {
      dispatchOf = how
      for (const { approvalId } of await parts.state.approvals()) start(approvalId)
    },
    async idle(): Promise<void> {
      await Promise.all(running)
    },
  }
}
