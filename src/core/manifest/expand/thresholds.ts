import type { Plain } from '../../json/value.js'
import type { Inputs } from '../constraint/inputs.js'
import type { Constraint, Threshold } from '../model.js'

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
