import { utf8 } from '../bytes/text.js'
import type { Hashing } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import type { Plain } from '../json/value.js'
import { evaluate } from '../manifest/constraint/evaluate.js'
import type { Facts } from '../manifest/constraint/inputs.js'
import { needsClaim } from '../manifest/constraint/predicates.js'
import { expandConstraint } from '../manifest/expand/constraint.js'
import { createReader } from '../manifest/expand/tree.js'
import type { Constraint, ToolRule } from '../manifest/model.js'

/** Constraints in the manifest's short form that a decider or a standing grant adds: name → constraint. */
export type Bounds = { readonly [name: string]: Plain }
export type ReadBounds =
  | { readonly ok: true; readonly constraints: ReadonlyMap<string, Constraint> }
  | { readonly ok: false; readonly problems: readonly string[] }

const NAME = /^[a-z][a-z0-9_]{0,63}$/

/** Against the tool as it is now: a bound on an argument the tool does not have is a problem, not a pass. */
export function readBounds(bounds: Bounds, rule: ToolRule): ReadBounds {
  const parsed = parse(utf8(JSON.stringify(bounds)))
  if (!parsed.ok) return { ok: false, problems: ['the bounds are not JSON'] }
  const reader = createReader({ value: parsed.value, at: () => null })
  const users = [{ rule, node: { value: null, path: '' }, template: null, inline: new Map() }]
  const constraints = new Map<string, Constraint>()
  for (const [name, node] of reader.fields({ value: parsed.value, path: '' }, null) ?? []) {
    if (!NAME.test(name)) reader.problem(node, `"${name}" is no name`, 'use a_name_like_this')
    const constraint = expandConstraint(reader, node, users)
    if (constraint === undefined) continue
    if (needsClaim(constraint)) {
      reader.problem(node, 'a window cannot bound one decision', 'limit the number of uses')
    } else constraints.set(name, constraint)
  }
  return reader.problems.length === 0
    ? { ok: true, constraints }
    : {
        ok: false,
        problems: reader.problems.map(
          ({ path, message, way_out }) => `${path}: ${message}; ${way_out}`,
        ),
      }
}

/** The first bound that does not hold, or null. What cannot be judged does not hold. */
export function brokenBound(
  constraints: ReadonlyMap<string, Constraint>,
  facts: Facts,
  now: string,
  crypto: Hashing,
): string | null {
  for (const [name, constraint] of constraints) {
    if (evaluate(name, constraint, facts, { now, prior: null }, crypto).result !== 'pass')
      return name
  }
  return null
}
