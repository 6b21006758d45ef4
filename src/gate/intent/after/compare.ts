import { executedAction } from '../../../core/call/executed.js'
import type { Dispatched } from '../../../ports/dispatch.js'
import type { Reserved } from '../../context.js'
import type { Commitment } from '../../govern/exit.js'

/**
 * §5.5.3: the declared action against the one that was executed, character by character. The second is derived
 * anew, from the octets that the adapter says it wrote; where somebody else ran the call there are none, and the
 * action is the one that was judged.
 */
export function compare(reserved: Reserved, { observation, wrote }: Dispatched): Commitment | null {
  const { intent, call, rule, world } = reserved
  if (intent === null || observation.kind === 'not_sent') return null
  const { requestedAction } = intent.intent
  if (wrote === undefined) return { matched: rule.action === requestedAction, basis: 'judged' }
  const executed = executedAction(wrote, { call, rule, router: world.router })
  return { matched: executed === requestedAction, basis: 'written' }
}
