import type { Hashing } from '../../crypto/crypto.js'
import type { Plain } from '../../json/value.js'
import type { Constraint } from '../model.js'
import { claimOf } from './claims.js'
import { type Facts, type Inputs, selectInputs, usesClock } from './inputs.js'
import { type Judgement, judge, needsClaim, type Result } from './predicates.js'

export type Moment = {
  /** The capsule's timestamp, RFC 3339 UTC. */
  readonly now: string
  /** The window's total before this call; null when the constraint needs no claim. */
  readonly prior: string | null
}

/** One constraint on one call. A windowed one needs the reading its claim got (see claims.ts). */
export function evaluate(
  id: string,
  constraint: Constraint,
  facts: Facts,
  moment: Moment,
  crypto: Hashing,
): Judgement {
  const inputs = selectInputs(constraint, facts)
  if (usesClock(constraint.predicate)) inputs.$now = moment.now
  if (needsClaim(constraint) && moment.prior !== null) {
    const window = windowInput(id, constraint, inputs, moment.prior, crypto)
    if (window !== null) inputs.$window = window
  }
  return judge(id, constraint, inputs, crypto)
}

function windowInput(
  id: string,
  constraint: Parameters<typeof claimOf>[1],
  inputs: Inputs,
  prior: string,
  crypto: Hashing,
): Plain | null {
  const claimed = claimOf(id, constraint, inputs, crypto)
  if (!claimed.ok) return null
  const { scope, windowSeconds, amount } = claimed.claim
  return { scope, seconds: windowSeconds, prior, amount }
}

export type Consequence = 'none' | 'warn' | 'hitl' | 'block'

/** What the manifest makes of a result. An error is a block or a question, never less. */
export function consequence(constraint: Constraint, result: Result): Consequence {
  switch (result) {
    case 'pass':
      return 'none'
    case 'fail':
      return constraint.on_fail
    case 'error':
      return constraint.on_error
  }
}
