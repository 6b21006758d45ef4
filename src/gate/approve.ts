import { withoutPending } from './constrain.js'
import { Exit } from './exit.js'
import type { Approved, Authorized } from './stage.js'

/**
 * Must a human decide? In observe mode nobody is asked: the record says that somebody would have been.
 * There is no one to ask yet, so a route to a human ends as an open item for an operator to close.
 */
export function approve(authorized: Authorized): Approved {
  const asks = authorized.decision.kind === 'ask' || authorized.asking.length > 0
  if (asks && authorized.mode === 'enforce') {
    throw new Exit(
      withoutPending(authorized),
      'decision_needed',
      authorized.decision.kind === 'ask'
        ? { policy_ids: authorized.decision.policies }
        : { constraint: authorized.asking[0] as string },
    )
  }
  return {
    ...authorized,
    grant: null,
    human: null,
    decisionId: authorized.actionId,
    supersedes: null,
  }
}
