import type { BudgetClaim, BudgetReading, Conflict, Reservation } from '../../ports/state.js'
import { isSameRequest } from '../answer/replay.js'
import type { Approved, MustAsk, Parts, Reserved } from '../context.js'
import { advance } from './advance.js'
import { recordReadings, withoutPending } from './constrain.js'
import { type Refused, refuse } from './exit.js'

/** Grant, idempotency key and budgets in one atomic step: after it nobody else can have them. */
export async function reserve(
  approved: Approved,
  parts: Parts,
): Promise<Reserved | MustAsk | Refused> {
  const outcome = await claim(approved, parts)
  if (outcome.kind === 'reserved') {
    return advance(withReadings(approved, outcome.readings, parts), { reserved: true })
  }
  // Whoever needs no grant of that item may run beside whoever is just closing it.
  const unbound = { ...approved, supersedes: null }
  if (outcome.kind === 'item' && approved.grant !== approved.decisionId) {
    return reserve(unbound, parts)
  }
  // With a grant nobody is asked again: then a window that still refuses is one that does not ask.
  if (outcome.kind === 'budget' && approved.grant === null) {
    const full = outcome.readings.filter((reading) => refuses(reading, approved))
    if (full.every(({ constraint }) => asksAt(constraint, approved))) {
      const asking = full.map(({ constraint }) => constraint)
      return { reserved: false, asking, readings: outcome.readings }
    }
  }
  // Nothing was taken: the item this call would have closed stays as it is.
  return refusal(unbound, outcome, parts)
}

const asksAt = (id: string, { manifest }: Approved): boolean =>
  manifest.constraints[id]?.on_fail === 'hitl'

const refuses = ({ constraint, within }: BudgetReading, { claims }: Approved): boolean =>
  !within && claims.some((claimed) => claimed.constraint === constraint && !claimed.advisory)

/** What a person or a standing grant let through counts in a window that asks, and is not asked about again. */
const budgetsOf = (approved: Approved): readonly BudgetClaim[] =>
  approved.grant === null
    ? approved.claims
    : approved.claims.map((claimed) =>
        asksAt(claimed.constraint, approved) ? { ...claimed, advisory: true } : claimed,
      )

const claim = (approved: Approved, { state }: Parts): Promise<Reservation | Conflict> =>
  state.reserve({
    actionId: approved.actionId,
    operator: approved.world.operator,
    agent: approved.agent.agent,
    requestDigest: approved.requestDigest,
    at: Date.parse(approved.at),
    key: approved.keyHash,
    grant: approved.grant,
    item:
      approved.supersedes === null
        ? null
        : { approvalId: approved.decisionId, parent: approved.supersedes },
    budgets: budgetsOf(approved),
  })

function refusal(approved: Approved, conflict: Conflict, parts: Parts): Refused {
  switch (conflict.kind) {
    case 'budget': {
      const known = withReadings(approved, conflict.readings, parts)
      const broken = conflict.readings.find(
        (reading) => refuses(reading, approved) && !asksAt(reading.constraint, approved),
      )
      const claim = approved.claims.find(({ constraint }) => constraint === broken?.constraint)
      const code = claim?.kind === 'dedupe' ? 'duplicate_call' : 'budget_exceeded'
      return refuse(
        known,
        code,
        {
          ...(broken === undefined
            ? {}
            : { constraint: broken.constraint, observed: broken.prior }),
        },
        claim === undefined ? {} : { retry_after_seconds: claim.windowSeconds },
      )
    }
    case 'key': {
      const known = withoutPending(approved)
      const { holder } = conflict
      return isSameRequest(holder, approved, parts)
        ? refuse(
            known,
            'idempotency_in_flight',
            { observed: holder.state },
            { held_by: holder.actionId },
          )
        : refuse(known, 'idempotency_mismatch')
    }
    case 'keys_exhausted':
      return refuse(withoutPending(approved), 'keys_exhausted')
    case 'grant':
    case 'item': {
      const why = conflict.kind === 'item' ? 'in_use' : conflict.why
      return refuse(
        withoutPending(approved),
        'approval_closed',
        { observed: why },
        { approval_id: approved.decisionId, approval_state: why },
      )
    }
  }
}

function withReadings(
  approved: Approved,
  readings: readonly BudgetReading[],
  parts: Parts,
): Approved {
  if (readings.length === 0) return approved
  const windowed = recordReadings(approved, readings, parts)
  // A call that was sent to a person by its window has read it before: the last reading counts.
  const isRead = (id: string | undefined): boolean =>
    readings.some(({ constraint }) => constraint === id)
  return advance(approved, {
    records: [...approved.records.filter(({ id }) => !isRead(id)), ...windowed.records],
    evidence: [
      ...approved.evidence.filter(({ kind, name }) => kind !== 'constraint' || !isRead(name)),
      ...windowed.evidence,
    ],
  })
}
