import type { Hashing } from '../../crypto/crypto.js'
import { textDigest } from '../../json/build.js'
import { addDecimals, compareDecimals, parseDecimal } from '../../json/decimal.js'
import type { Plain } from '../../json/value.js'
import { record } from '../expand/tree.js'
import type { CompareOp, Constraint, Predicate, Threshold } from '../model.js'
import { urlAuthority } from '../route/url-host.js'
import { claimOf, isWindowed, type Windowed } from './claims.js'
import type { Inputs } from './inputs.js'
import { type LeafPredicate, resolveThreshold } from './leaves.js'
import { matchesWhole } from './regex.js'
import { conforms, schemaValueOf } from './schema.js'
import { inTimeWindow } from './time-window.js'

export type Result = 'pass' | 'fail' | 'error'
export type Judgement = {
  readonly result: Result
  readonly inputs: Inputs
  /** Resolved: the literals that were compared with, by name. */
  readonly thresholds: { readonly [name: string]: Plain }
  /** For the operator; the first thing that could not be judged. */
  readonly why: string | null
}

type Scene = {
  readonly id: string
  readonly constraint: Constraint
  readonly inputs: Inputs
  readonly crypto: Hashing
  readonly thresholds: Record<string, Plain>
  why: string | null
}

/**
 * A function of the constraint and the inputs, nothing else: what the clock and the window said are
 * inputs too (`$now`, `$window`), so evidence alone re-derives it (promise 7). Total: never throws.
 */
export function judge(
  id: string,
  constraint: Constraint,
  inputs: Inputs,
  crypto: Hashing,
): Judgement {
  const scene: Scene = { id, constraint, inputs, crypto, thresholds: record<Plain>(), why: null }
  const result =
    conforms(constraint.evidence_schema, givenOf(inputs)) === true
      ? run(constraint.predicate, scene)
      : error(scene, 'the inputs do not conform to the evidence schema')
  return { result, inputs, thresholds: scene.thresholds, why: scene.why }
}

/** What the call gave: the gate's own inputs, the clock and the window, are none of it. */
export function givenOf(inputs: Inputs): Inputs {
  if (inputs.$now === undefined && inputs.$window === undefined) return inputs
  const { $now: _now, $window: _window, ...given } = inputs
  return given
}

function error(scene: Scene, why: string): 'error' {
  scene.why ??= why
  return 'error'
}
const decided = (holds: boolean): Result => (holds ? 'pass' : 'fail')

function run(predicate: Predicate, scene: Scene): Result {
  switch (predicate.kind) {
    case 'exists':
      return decided(scene.inputs[predicate.input] !== undefined)
    case 'absent':
      return decided(scene.inputs[predicate.input] === undefined)
    case 'if_present':
      return scene.inputs[predicate.input] === undefined ? 'pass' : run(predicate.then, scene)
    case 'time_window':
      return timeWindow(predicate, scene)
    case 'count_in_window':
    case 'sum_in_window':
    case 'dedupe_key':
      return windowed(predicate, scene)
    case 'all':
    case 'any': {
      const results = predicate.of.map((member) => run(member, scene))
      if (results.includes('error')) return 'error'
      return decided(
        predicate.kind === 'all' ? !results.includes('fail') : results.includes('pass'),
      )
    }
    case 'not': {
      const result = run(predicate.of, scene)
      return result === 'error' ? result : decided(result === 'fail')
    }
    default:
      return onInput(predicate, scene)
  }
}

type OnInput = Exclude<LeafPredicate, Windowed | { kind: 'exists' | 'absent' | 'time_window' }>

function onInput(predicate: OnInput, scene: Scene): Result {
  const value = scene.inputs[predicate.input]
  if (value === undefined) return error(scene, `the input ${predicate.input} is missing`)
  const holds = compare(predicate, value, scene)
  return holds === null
    ? error(scene, `${predicate.kind} cannot judge the input ${predicate.input}`)
    : decided(holds)
}

/** Null: cannot be decided. */
function compare(predicate: OnInput, value: Plain, scene: Scene): boolean | null {
  switch (predicate.kind) {
    case 'equals': {
      const to = threshold(predicate.to, scene)
      return isScalar(value) && isScalar(to) ? value === literal(to) : null
    }
    case 'in_set':
    case 'not_in_set': {
      const set = threshold(predicate.set, scene)
      if (!Array.isArray(set)) return null
      const member = predicate.kind === 'in_set'
      // One look through the set costs less than making a Set of it; for a list it pays.
      if (isScalar(value)) return set.some((element) => literal(element) === value) === member
      const known = new Set(set.map(literal))
      return each(value, (element) => known.has(element) === member)
    }
    case 'url_host_in': {
      const set = threshold(predicate.set, scene)
      if (!Array.isArray(set)) return null
      return eachText(value, (url) => {
        const authority = urlAuthority(url)
        return authority === null ? null : set.includes(authority)
      })
    }
    case 'regex': {
      const pattern = threshold(predicate.pattern, scene)
      if (typeof pattern !== 'string') return null
      return eachText(value, (text) => matchesWhole(pattern, text))
    }
    case 'length': {
      const size = typeof value === 'string' ? characters(value) : itemsOf(value)?.length
      return size === undefined ? null : between(String(size), predicate, scene)
    }
    case 'integer_range':
      return typeof value === 'string' && /^-?[0-9]+$/.test(value)
        ? between(value, predicate, scene)
        : null
    case 'decimal_compare':
      return ordered(value, predicate.op, threshold(predicate.to, scene))
    case 'json_schema': {
      const schema = threshold(predicate.schema, scene)
      if (schema === undefined) return null
      if (scene.constraint.select[predicate.input] !== '$body') {
        return conforms(schema, itemsOf(value) ?? value)
      }
      const body = typeof value === 'string' ? schemaValueOf(value) : null
      return body === null ? null : conforms(schema, body.value)
    }
    case 'hash_equals': {
      const to = threshold(predicate.to, scene)
      if (typeof value !== 'string' || typeof to !== 'string') return null
      return textDigest(value, scene.crypto) === to
    }
  }
}

const SURROGATE = /[\ud800-\udfff]/
/** Code points, as iterating the text would count them, half a pair as one. */
function characters(text: string): number {
  if (!SURROGATE.test(text)) return text.length
  let count = text.length
  for (let i = 1; i < text.length; i++) {
    if (isLow(text.charCodeAt(i)) && isHigh(text.charCodeAt(i - 1))) count--
  }
  return count
}
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

function threshold(reference: Threshold, scene: Scene): Plain | undefined {
  const value = resolveThreshold(scene.constraint, reference, scene.inputs)
  if (value !== undefined) scene.thresholds[reference.threshold] = value
  return value
}

const isScalar = (value: Plain | undefined): value is string | boolean | number =>
  typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'

/** Integers enter as text, so a threshold written as a number is compared as its text. */
const literal = (value: Plain): Plain => (typeof value === 'number' ? String(value) : value)

/** The elements of a list input; an empty one may have lost its `items` to normalization. */
function itemsOf(value: Plain): readonly Plain[] | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
  const { count, items = [] } = value as { count?: Plain; items?: Plain }
  return Array.isArray(items) && items.length === count ? items : null
}

/** Of a list, every element; of an empty one, nothing is asked. */
function each(value: Plain, holds: (element: Plain) => boolean | null): boolean | null {
  if (isScalar(value)) return holds(value)
  const elements = itemsOf(value)
  if (elements === null || !elements.every(isScalar)) return null
  const results = elements.map(holds)
  return results.includes(null) ? null : !results.includes(false)
}
const eachText = (value: Plain, holds: (text: string) => boolean | null): boolean | null =>
  each(value, (element) => (typeof element === 'string' ? holds(element) : null))

function between(
  text: string,
  { min, max }: { readonly min?: Threshold; readonly max?: Threshold },
  scene: Scene,
): boolean | null {
  const above = min === undefined ? true : ordered(text, 'gte', threshold(min, scene))
  const below = max === undefined ? true : ordered(text, 'lte', threshold(max, scene))
  return above === null || below === null ? null : above && below
}

function ordered(value: Plain, op: CompareOp, to: Plain | undefined): boolean | null {
  if (!isScalar(value) || !isScalar(to)) return null
  const left = parseDecimal(String(value))
  const right = parseDecimal(String(to))
  if (left === null || right === null) return null
  return HOLDS[op](compareDecimals(left, right))
}
const HOLDS: Readonly<Record<CompareOp, (order: number) => boolean>> = {
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
}

function timeWindow(predicate: Extract<Predicate, { kind: 'time_window' }>, scene: Scene): Result {
  const now = scene.inputs.$now
  const from = threshold(predicate.from, scene)
  const until = threshold(predicate.until, scene)
  const days = predicate.days === undefined ? null : threshold(predicate.days, scene)
  if (typeof now !== 'string' || typeof from !== 'string' || typeof until !== 'string') {
    return error(scene, 'the time or a bound of the window is missing')
  }
  if (days !== null && !Array.isArray(days)) return error(scene, 'the days cannot be resolved')
  const inside = inTimeWindow(now, from, until, days === null ? null : days.map(String))
  return inside === null ? error(scene, 'the time window cannot be read') : decided(inside)
}

/** The store's reading is an input: prior total, and the scope it was read for. */
function windowed(predicate: Windowed, scene: Scene): Result {
  const { id, constraint, inputs, crypto } = scene
  const reading = inputs.$window as { readonly scope?: Plain; readonly prior?: Plain } | undefined
  if (predicate.kind !== 'dedupe_key') threshold(predicate.max, scene)
  const claimed = claimOf(id, { ...constraint, predicate }, inputs, crypto)
  if (!claimed.ok) return error(scene, claimed.why)
  if (reading === null || typeof reading !== 'object' || reading.scope !== claimed.claim.scope) {
    return error(scene, 'there is no reading of this window')
  }
  const prior = typeof reading.prior === 'string' ? parseDecimal(reading.prior) : null
  const amount = parseDecimal(claimed.claim.amount)
  const max = parseDecimal(claimed.claim.max)
  if (prior === null || amount === null || max === null) {
    return error(scene, 'the reading of the window is no decimal')
  }
  return decided(compareDecimals(addDecimals(prior, amount), max) <= 0)
}

/** Whether a constraint asks the state store first; if not, `evaluate` alone decides it. */
export const needsClaim = (
  constraint: Constraint,
): constraint is Constraint & { readonly predicate: Windowed } => isWindowed(constraint.predicate)
