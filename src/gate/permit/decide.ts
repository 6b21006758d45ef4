import type { Agent } from '../../core/call/agent.js'
import type { Call } from '../../core/call/call.js'
import { type Dispatch, notSent } from '../../ports/dispatch.js'
import type { Answer } from '../answer/answer.js'
import type { Gate } from '../gate.js'

/** Leave to act, once, until the deadline. Its dispatch line is durable; its capsule follows (DESIGN §2.1). */
export type Permit = {
  readonly kind: 'permit'
  readonly caller: Agent
  readonly actionId: string
  readonly deadline: string
}
export type Decision = {
  /** What the runtime is told now: a permit, or the answer to a call that gets none. */
  readonly told: Promise<Permit | Answer>
  /** Resolves when the gate keeps nothing of the call any more: after a permit, at its report or deadline. */
  readonly over: Promise<void>
}

/**
 * The whole life of a call whose caller acts itself: dispatched is the permit, and observed is what the caller
 * reports of the act, if it does (gate/permit/report.ts).
 */
export function decide(
  gate: Pick<Gate, 'govern' | 'permits'>,
  call: Call,
  caller: Agent,
): Decision {
  let permit: (given: Permit) => void = () => undefined
  const permitted = new Promise<Permit>((resolve) => {
    permit = resolve
  })
  const dispatch: Dispatch = async ({ actionId, rule, stillAllowed }) => {
    if (!stillAllowed()) return { observation: notSent('withdrawn'), held: null }
    const { agent } = caller
    const ms = rule.deadlines.total_ms
    const given = gate.permits.give({ actionId, agent, ms, concluded })
    if (given.kind === 'refused') return { observation: notSent(given.cause), held: null }
    permit({ kind: 'permit', caller, actionId, deadline: given.deadline })
    return { observation: await given.ended, held: null }
  }
  const concluded = gate.govern(call, dispatch, caller)
  const over = concluded.then(
    () => undefined,
    () => undefined,
  )
  return { told: Promise.race([permitted, concluded]), over }
}
