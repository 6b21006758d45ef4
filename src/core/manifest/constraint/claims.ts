import type { Hashing } from '../../crypto/crypto.js'
import { jsonDigest } from '../../json/build.js'
import { formatDecimal, parseDecimal } from '../../json/decimal.js'
import type { Plain } from '../../json/value.js'
import { record } from '../expand/tree.js'
import type { Constraint, Predicate, Threshold } from '../model.js'
import type { Inputs } from './inputs.js'
import { resolveThreshold } from './leaves.js'

export type Windowed = Extract<
  Predicate,
  { kind: 'count_in_window' | 'sum_in_window' | 'dedupe_key' }
>

export const isWindowed = (predicate: Predicate): predicate is Windowed =>
  predicate.kind === 'count_in_window' ||
  predicate.kind === 'sum_in_window' ||
  predicate.kind === 'dedupe_key'

/** What is asked of the state at `reserve`. */
export type Claim = {
  readonly constraint: string
  /** A digest of the scope's inputs; the state gets it keyed (`budgetScope`). */
  readonly scope: string
  readonly windowSeconds: number
  readonly kind: 'count' | 'sum' | 'dedupe'
  /** Exact decimal; `"1"` for counts. */
  readonly amount: string
  /** Exact decimal; for dedupe `"1"`. */
  readonly max: string
  /** Observe mode: record the total, never refuse. */
  readonly advisory: boolean
}
export type Claimed =
  | { readonly ok: true; readonly claim: Claim }
  | { readonly ok: false; readonly why: string }

const KIND = { count_in_window: 'count', sum_in_window: 'sum', dedupe_key: 'dedupe' } as const

export function claimOf(
  id: string,
  constraint: Constraint & { readonly predicate: Windowed },
  inputs: Inputs,
  crypto: Hashing,
  advisory = false,
): Claimed {
  const { predicate } = constraint
  const scope = scopeKey(id, predicate.scope, inputs, crypto)
  if (scope === null) return { ok: false, why: 'an input of the scope is missing or has no digest' }
  const amount = amountOf(predicate, inputs)
  if (amount === null) return { ok: false, why: 'the amount is missing, no decimal, or negative' }
  const max = predicate.kind === 'dedupe_key' ? '1' : limitOf(constraint, predicate.max, inputs)
  if (max === null) return { ok: false, why: 'the limit cannot be resolved' }
  const { window_seconds: windowSeconds } = predicate
  const kind = KIND[predicate.kind]
  return {
    ok: true,
    claim: { constraint: id, scope, windowSeconds, kind, amount, max, advisory },
  }
}

/** A negative amount would give budget back, so there is none. */
function amountOf(predicate: Windowed, inputs: Inputs): string | null {
  if (predicate.kind !== 'sum_in_window') return '1'
  const value = inputs[predicate.input]
  const decimal = typeof value === 'string' ? parseDecimal(value) : null
  return decimal === null || decimal.units < 0n ? null : formatDecimal(decimal)
}

function limitOf(constraint: Constraint, max: Threshold, inputs: Inputs): string | null {
  const value = resolveThreshold(constraint, max, inputs)
  const decimal = typeof value === 'number' || typeof value === 'string' ? String(value) : ''
  const parsed = parseDecimal(decimal)
  return parsed === null ? null : formatDecimal(parsed)
}

/** Not bound to the manifest's digest: an edit of the manifest must not refill the budget. */
function scopeKey(
  id: string,
  scope: readonly string[],
  inputs: Inputs,
  crypto: Hashing,
): string | null {
  const values = record<Plain>()
  for (const name of scope) {
    const value = inputs[name]
    if (value === undefined) return null
    values[name] = value
  }
  try {
    return jsonDigest({ constraint: id, scope: values }, crypto)
  } catch {
    // Evidence under audit may hold what no call can: a float, half a character.
    return null
  }
}
