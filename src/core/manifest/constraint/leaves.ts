import type { Predicate, Threshold } from '../model.js'

/** What a literal must be for the predicate that compares with it. */
export type Role =
  | 'scalar'
  | 'set'
  | 'pattern'
  | 'size'
  | 'integer'
  | 'decimal'
  | 'schema'
  | 'hosts'
  | 'hash'
  | 'time'
  | 'days'

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
  const keys = thresholdsOf(leaf).flatMap(([, { by }]) => (by === undefined ? [] : [by]))
  switch (leaf.kind) {
    case 'time_window':
      return keys
    case 'count_in_window':
    case 'dedupe_key':
      return [...leaf.scope, ...keys]
    case 'sum_in_window':
      return [leaf.input, ...leaf.scope, ...keys]
    default:
      return [leaf.input, ...keys]
  }
}

export function thresholdsOf(leaf: LeafPredicate): readonly (readonly [Role, Threshold])[] {
  const range = (role: Role, low?: Threshold, high?: Threshold) =>
    [low, high].flatMap((bound) => (bound === undefined ? [] : [[role, bound] as const]))
  switch (leaf.kind) {
    case 'exists':
    case 'absent':
    case 'dedupe_key':
      return []
    case 'equals':
      return [['scalar', leaf.to]]
    case 'in_set':
    case 'not_in_set':
      return [['set', leaf.set]]
    case 'regex':
      return [['pattern', leaf.pattern]]
    case 'length':
      return range('size', leaf.min, leaf.max)
    case 'integer_range':
      return range('integer', leaf.min, leaf.max)
    case 'decimal_compare':
      return [['decimal', leaf.to]]
    case 'json_schema':
      return [['schema', leaf.schema]]
    case 'url_host_in':
      return [['hosts', leaf.set]]
    case 'hash_equals':
      return [['hash', leaf.to]]
    case 'time_window':
      return [...range('time', leaf.from, leaf.until), ...range('days', leaf.days)]
    case 'count_in_window':
      return [['size', leaf.max]]
    case 'sum_in_window':
      return [['decimal', leaf.max]]
  }
}
