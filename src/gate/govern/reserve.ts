import type { BudgetClaim, BudgetReading, Conflict } from '../../ports/state.js'
import { isSameRequest } from '../answer/replay.js'
import type { Approved, MustAsk, Parts, Reserved } from '../context.js'
import { isAgain } from '../intent/is-again.js'
import { advance } from './advance.js'
import { withReadings } from './constrain.js'
import { type Refused, refuse } from './exit.js'

/** Takes grant, idempotency key and budgets in one atomic step. */
export async function reserve(
  approved: Approved,
  parts: Parts,
): Promise<Reserved | MustAsk | Refused> {
  const { grant, decisionId, supersedes } = approved
  // A declaration that was on record before runs with the item that waits for it, or not at all: that ends once.
  if (isAgain(approved) && supersedes === null) return refuse(approved, 'intent_duplicate')
  const outcome = await parts.state.reserve({
    actionId: approved.actionId,
    operator: approved.world.operator,
    agent: approved.agent.agent,
    requestDigest: approved.requestDigest,
    at: Date.parse(approved.at),
    key: approved.keyHash,
    grant,
    item: supersedes === null ? null : { approvalId: decisionId, parent: supersedes },
    budgets: budgetsOf(approved),
  })
  if (outcome.kind === 'reserved') {
    return advance(withReadings(approved, outcome.readings, parts), { reserved: true })
  }
  // Nothing was taken, so the item that this call would have closed stays as it is.
  const unbound = { ...approved, supersedes: null }
  // A call that needs no grant of that item may run while another is just closing it.
  if (outcome.kind === 'item' && grant !== decisionId) return reserve(unbound, parts)
  // A call with a grant is not put before a person again: a window that still refuses is one that does not ask.
  if (outcome.kind === 'budget' && grant === null) {
    const full = outcome.readings.filter((reading) => refuses(reading, approved))
    if (full.every(({ constraint }) => asksAt(constraint, approved))) {
      const asking = full.map(({ constraint }) => constraint)
      return { reserved: false, asking, readings: outcome.readings }
    }
  }
  return refusal(unbound, outcome, parts)
}

const asksAt = (id: string, { manifest }: Approved): boolean =>
  manifest.constraints[id]?.on_fail === 'hitl'

const refuses = ({ constraint, within }: BudgetReading, { claims }: Approved): boolean =>
  !within && claims.some((claimed) => claimed.constraint === constraint && !claimed.advisory)

/** A call with a grant counts in a window that asks, and is not refused by it. */
const budgetsOf = (approved: Approved): readonly BudgetClaim[] =>
  approved.grant === null
    ? approved.claims
    : approved.claims.map((claimed) =>
        asksAt(claimed.constraint, approved) ? { ...claimed, advisory: true } : claimed,
      )

function refusal(approved: Approved, conflict: Conflict, parts: Parts): Refused {
  switch (conflict.kind) {
    case 'budget': {
      const broken = conflict.readings.find(
        (reading) => refuses(reading, approved) && !asksAt(reading.constraint, approved),
      )
      const claim = approved.claims.find(({ constraint }) => constraint === broken?.constraint)
      return refuse(
        withReadings(approved, conflict.readings, parts),
        claim?.kind === 'dedupe' ? 'duplicate_call' : 'budget_exceeded',
        broken === undefined ? {} : { constraint: broken.constraint, observed: broken.prior },
        claim === undefined ? {} : { retry_after_seconds: claim.windowSeconds },
      )
    }
    case 'key': {
      const { holder } = conflict
      if (!isSameRequest(holder, approved, parts)) return refuse(approved, 'idempotency_mismatch')
      const held_by = holder.actionId
      return refuse(approved, 'idempotency_in_flight', { observed: holder.state }, { held_by })
    }
    case 'keys_exhausted':
      return refuse(approved, 'keys_exhausted')
    case 'grant':
    case 'item': {
      const why = conflict.kind === 'item' ? 'in_use' : conflict.why
      const details = { approval_id: approved.decisionId, approval_state: why }
      return refuse(approved, 'approval_closed', { observed: why }, details)
    }
  }
}
