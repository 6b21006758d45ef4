import type { Plain } from '../../json/value.js'
import type { Constraint, Predicate, Threshold } from '../model.js'
import type { Inputs } from './inputs.js'
import { membersOf, type Role } from './kinds.js'

export type LeafPredicate = Exclude<Predicate, { kind: 'all' | 'any' | 'not' | 'if_present' }>
export type Leaf = {
  readonly predicate: LeafPredicate
  /** Stands under another predicate. */
  readonly nested: boolean
  /** Its inputs must be there: not under `if_present`, and no test of presence itself. */
  readonly needed: boolean
}

export function leavesOf(predicate: Predicate, nested = false, optional = false): readonly Leaf[] {
  switch (predicate.kind) {
    case 'all':
    case 'any':
      return predicate.of.flatMap((member) => leavesOf(member, true, optional))
    case 'not':
      return leavesOf(predicate.of, true, optional)
    case 'if_present':
      return [
        { predicate: { kind: 'exists', input: predicate.input }, nested, needed: false },
        ...leavesOf(predicate.then, true, true),
      ]
    default: {
      const presence = predicate.kind === 'exists' || predicate.kind === 'absent'
      return [{ predicate, nested, needed: !optional && !presence }]
    }
  }
}

export function inputsOf(leaf: LeafPredicate): readonly string[] {
  const own = 'input' in leaf ? [leaf.input] : []
  const scope = 'scope' in leaf ? leaf.scope : []
  const keys = thresholdsOf(leaf).flatMap(([, { by }]) => (by === undefined ? [] : [by]))
  return [...own, ...scope, ...keys]
}

/** The literals that a predicate compares with, by what they must be. */
export const thresholdsOf = (leaf: LeafPredicate): readonly (readonly [Role, Threshold])[] =>
  membersOf(leaf.kind).flatMap(({ name, type }) => {
    const value = (leaf as { readonly [name: string]: unknown })[name]
    return isThreshold(value) ? [[type as Role, value] as const] : []
  })

const isThreshold = (value: unknown): value is Threshold =>
  typeof value === 'object' && value !== null && 'threshold' in value

/** The literal a predicate compares with; undefined when the look-up has no entry for the input. */
export function resolveThreshold(
  constraint: Pick<Constraint, 'thresholds'>,
  threshold: Threshold,
  inputs: Inputs,
): Plain | undefined {
  const literal = own(constraint.thresholds, threshold.threshold)
  if (threshold.by === undefined) return literal
  const key = inputs[threshold.by]
  if (typeof key !== 'string' && typeof key !== 'boolean') return undefined
  return own(literal, String(key))
}

/** Agents choose the key: `constructor` and `__proto__` find nothing. */
function own(holder: Plain | undefined, name: string): Plain | undefined {
  if (holder === null || typeof holder !== 'object' || Array.isArray(holder)) return undefined
  return Object.hasOwn(holder, name) ? (holder as { [name: string]: Plain })[name] : undefined
}
