import type { ReadCall } from '../../core/call/call.js'
import type { Dispatch } from '../../ports/dispatch.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { thaw } from '../evidence/frozen.js'
import { begin } from '../govern/begin.js'
import { record } from '../govern/conclude.js'
import { refuse } from '../govern/exit.js'
import { judge } from '../govern/govern.js'
import { closing } from './find.js'

/** How a mount sends a call whose caller has gone. Null: it cannot. */
export type BackgroundDispatch = (call: ReadCall) => Dispatch | null

/**
 * `on_approval: dispatch`: the frozen call runs the pipeline again, under the policies, constraints and halts
 * of now; the response is kept in evidence for the agent to collect. For an agent that is gone, or has lost a
 * role it had when it asked, nothing is sent.
 */
async function runApproved(
  approval: Approval,
  dispatchOf: BackgroundDispatch,
  parts: Parts,
): Promise<void> {
  if (approval.state.kind !== 'approved' || approval.hitl.on_approval !== 'dispatch') return
  const frozen = await thaw(approval, parts)
  const dispatch = frozen === null ? null : dispatchOf(frozen.call)
  if (frozen === null || dispatch === null) {
    const actionId = approval.approvalId
    parts.report({ level: 'error', event: 'approved_not_dispatched', actionId })
    return
  }
  const begun = begin(frozen.call, frozen.agent, parts)
  if (parts.identity.isStillKnown(frozen.agent)) {
    await judge(begun, dispatch, parts)
    return
  }
  // The refusal closes the item, so that no later start tries again.
  const known = await closing(begun, approval, parts)
  await record(refuse(known, 'unauthenticated', { observed: 'agent_gone' }), parts)
}

/** Runs what was approved once the mount has registered; also what was approved in an earlier process. */
export function createBackground(parts: Parts) {
  let dispatchOf: BackgroundDispatch | null = null
  const running = new Set<Promise<void>>()

  async function run(actionId: string, how: BackgroundDispatch): Promise<void> {
    try {
      const approval = await parts.state.approval(actionId)
      if (approval !== null) await runApproved(approval, how, parts)
    } catch (error) {
      const detail = String(error)
      parts.report({ level: 'error', event: 'approved_not_dispatched', actionId, detail })
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
