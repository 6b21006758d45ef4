import { exactText, type Plain } from '../../json/value.js'
import { record } from '../expand/tree.js'
import type { Constraint, Predicate } from '../model.js'
import type { Args } from '../route/read-result.js'
import type { ArgValue } from './typed-value.js'

/** Everything a constraint may look at. No clock, store or network stands behind it (promise 7). */
export type Facts = {
  readonly args: Args
  /** Exact JSON text of the body, when the rule reads it. */
  readonly body: string | null
  readonly agent: string
  readonly operator: string
  readonly tool: string
}

/** What a predicate sees and what its evidence keeps. An absent input is an absent member. */
export type Inputs = { readonly [name: string]: Plain }

/** A new record, which the caller may change. */
export function selectInputs(constraint: Constraint, facts: Facts): Record<string, Plain> {
  const { select } = constraint
  const inputs = record<Plain>()
  for (const name in select) {
    const value = read(select[name] as string, facts)
    if (value !== null) inputs[name] = value
  }
  return inputs
}

function read(source: string, facts: Facts): Plain {
  switch (source) {
    case '$body':
      return facts.body
    case '$agent':
      return facts.agent
    case '$operator':
      return facts.operator
    case '$tool':
      return facts.tool
    default: {
      const value = facts.args.get(source)
      return value === undefined ? null : evidenceForm(value)
    }
  }
}

/**
 * Numbers are text, so that none is inexact. A list carries its count, because normalization drops an
 * empty list (seed §2) and evidence of "none" must not read as evidence of "not given"; an empty one has
 * no items here either, so that the schema judges what is digested.
 */
export function evidenceForm(arg: ArgValue): Plain {
  switch (arg.type) {
    case 'string':
    case 'decimal':
    case 'boolean':
      return arg.value
    case 'integer':
      return arg.value.toString()
    case 'strings':
      return arg.value.length === 0 ? { count: 0 } : { count: arg.value.length, items: arg.value }
    case 'object':
    case 'objects':
      return exactText(arg.value)
  }
}

export const usesClock = (predicate: Predicate): boolean => {
  switch (predicate.kind) {
    case 'time_window':
      return true
    case 'all':
    case 'any':
      return predicate.of.some(usesClock)
    case 'not':
      return usesClock(predicate.of)
    case 'if_present':
      return usesClock(predicate.then)
    default:
      return false
  }
}
