import type { Plain } from '../../../core/json/value.js'
import type { OwnAction } from '../../../gate/answer/own-action.js'

/** How an action stands, as its own agent may see it. */
export function statusOf(own: OwnAction): { [name: string]: Plain } {
  const { asked } = own
  return {
    action_id: own.actionId,
    state: own.state,
    verdict: own.verdict,
    capsule_id: own.capsuleId,
    result_available: own.resultAvailable,
    ...(asked === null
      ? {}
      : {
          approval_id: asked.approvalId,
          expires_at: asked.deadline.at,
          on_approval: asked.hitl.on_approval,
          concluded_by: own.concluded?.actionId ?? null,
        }),
  }
}
