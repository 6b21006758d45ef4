import type { Hashing } from '../crypto/crypto.js'
import type { Plain } from '../json/value.js'
import { evaluate } from '../manifest/constraint/evaluate.js'
import { type Facts, usesClock } from '../manifest/constraint/inputs.js'
import type { ArgValue } from '../manifest/constraint/typed-value.js'
import type { Constraint, Predicate, ToolRule } from '../manifest/model.js'
import { combinations, spreadOfArgument, spreadOfBody } from './spread.js'

/** Whom and what a standing grant is for. */
export type Bounded = {
  readonly rule: ToolRule
  readonly agent: string
  readonly operator: string
}

/**
 * What is wrong with bounds that can be read: one that no call breaks bounds nothing, and a grant whose
 * bounds leave every argument free is no bounded grant. Decided by trying a spread of calls, so that it
 * does not matter how a bound that bounds nothing is written.
 */
export function hollowBounds(
  bounds: ReadonlyMap<string, Constraint>,
  of: Bounded,
  crypto: Hashing,
): readonly string[] {
  const problems: string[] = []
  for (const [name, bound] of bounds) {
    if (bound.on_fail === 'warn') {
      problems.push(`${name}: on_fail: warn would let every call through; leave on_fail out`)
    } else if (!isBroken(bound, of, crypto)) {
      problems.push(`${name}: no call breaks it, so it bounds nothing; state a limit`)
    }
  }
  const isBounding = [...bounds.values()].some(
    (bound) =>
      Object.values(bound.select).some((source) => source === '$body' || source[0] !== '$') &&
      isBroken({ ...bound, predicate: anytime(bound.predicate, true) }, of, crypto),
  )
  return isBounding ? problems : [...problems, 'it bounds at least one argument']
}

const HOUR_MS = 3_600_000
const HOURS_OF_A_WEEK = Array.from({ length: 168 }, (_, hour) =>
  new Date(hour * HOUR_MS).toISOString(),
)
/** Few bounds read more than two inputs; those of more are tried on this many calls. */
const MOST_CALLS = 4_000

function isBroken(bound: Constraint, of: Bounded, crypto: Hashing): boolean {
  const moments = usesClock(bound.predicate) ? HOURS_OF_A_WEEK : HOURS_OF_A_WEEK.slice(0, 1)
  for (const facts of callsFor(bound, of)) {
    for (const now of moments) {
      if (evaluate('bound', bound, facts, { now, prior: null }, crypto).result !== 'pass')
        return true
    }
  }
  return false
}

function* callsFor({ select, thresholds }: Constraint, of: Bounded): Iterable<Facts> {
  const { rule, agent, operator } = of
  const read = [...new Set(Object.values(select))]
  const names = read.filter((source) => Object.hasOwn(rule.args, source))
  const literals = literalsIn(thresholds)
  const bodies = read.includes('$body') ? spreadOfBody(rule, Object.values(thresholds)) : [null]
  const spreads = names.map((name) => {
    const { type, optional } = rule.args[name] as ToolRule['args'][string]
    const values: (ArgValue | undefined)[] = [...spreadOfArgument(type, literals)]
    return optional ? [...values, undefined] : values
  })
  for (const values of combinations(spreads, MOST_CALLS)) {
    const given = names.flatMap((name, index) => {
      const value = values[index]
      return value === undefined ? [] : [[name, value] as const]
    })
    for (const body of bodies) {
      yield { args: new Map(given), body, agent, operator, tool: rule.tool }
    }
  }
}

/** What a bound compares with: the values that are most likely to break its negation. */
function literalsIn(value: Plain): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (value === null || typeof value !== 'object') return []
  return Object.values(value).flatMap((member) => literalsIn(member ?? null))
}

/** The same with every time in its window: what is left is asked of the arguments. */
function anytime(predicate: Predicate, holds: boolean): Predicate {
  switch (predicate.kind) {
    case 'time_window':
      return { kind: holds ? 'all' : 'any', of: [] }
    case 'all':
    case 'any':
      return { ...predicate, of: predicate.of.map((member) => anytime(member, holds)) }
    case 'not':
      return { ...predicate, of: anytime(predicate.of, !holds) }
    case 'if_present': {
      const then = anytime(predicate.then, holds)
      return { ...predicate, then }
    }
    default:
      return predicate
  }
}
