import type { Plain } from '../../json/value.js'
import type { CompareOp, Predicate, Threshold } from '../model.js'
import { COMPARE_OPS, MAX_WINDOW_SECONDS } from './full-form.js'
import { type Fields, type Node, type Reader, record } from './tree.js'

/** Words that are predicates of their own; any other key is an input with a condition on it. */
export const WORDS = ['all', 'any', 'not', 'time', 'count', 'sum', 'dedupe'] as const
const OPS = [
  'exists',
  'absent',
  'if_present',
  'equals',
  'in',
  'not_in',
  'matches',
  'length',
  'range',
  'schema',
  'host_in',
  'sha256',
  ...COMPARE_OPS,
] as const

const SET_KIND = { in: 'in_set', not_in: 'not_in_set', host_in: 'url_host_in' } as const

export type ShortForm = {
  readonly predicate: Predicate | undefined
  readonly thresholds: Record<string, Plain>
}

/** `{amount: {lte: "500.00"}, currency: {in: [EUR, USD]}}`: several conditions must all hold. */
export function readShortForm(
  reader: Reader,
  node: Node,
  fields: Fields,
  inputs: ReadonlySet<string>,
): ShortForm {
  const thresholds = record<Plain>()

  /** A literal, or `{by: input, of: {key: literal}}`; kept under a name that follows from its position. */
  function threshold(stem: string, member: Node | undefined, asText = false): Threshold | null {
    if (member === undefined) return null
    const lookup = member.value instanceof Map && member.value.has('by')
    const parts = lookup ? reader.fields(member, ['by', 'of']) : undefined
    const by = reader.text(parts?.get('by'), /^.{1,64}$/, "an input's name")
    const given = reader.plain(lookup ? parts?.get('of') : member)
    if (given === undefined || (lookup && by === undefined)) return null
    let name = stem.replace(/^\$/, '')
    for (let n = 2; name in thresholds; n++) name = `${stem.replace(/^\$/, '')}_${n}`
    thresholds[name] = asText ? texts(given) : given
    return by === undefined ? { threshold: name } : { threshold: name, by }
  }

  function predicate(holder: Node, members: Fields): Predicate | undefined {
    const found = [...members].flatMap(([name, member]): Predicate[] => {
      const word = WORDS.find((known) => known === name)
      if (word !== undefined && inputs.has(name)) {
        reader.problem(member, `"${name}" is a word and an argument`, 'use the full form')
        return []
      }
      if (word !== undefined) return single(worded(word, member))
      if (inputs.has(name)) return conditions(name, member)
      reader.problem(
        member,
        `"${name}" is no argument of the tool`,
        `one of: ${[...inputs, ...WORDS].join(', ')}`,
      )
      return []
    })
    return combine(holder, found)
  }

  const single = (one: Predicate | undefined): Predicate[] => (one === undefined ? [] : [one])

  function combine(holder: Node, found: readonly Predicate[]): Predicate | undefined {
    const [first, ...rest] = found
    if (first === undefined) {
      if (reader.problems.length > 0) return undefined
      return reader.problem(holder, 'nothing is asked here', 'write {argument: {condition: value}}')
    }
    return rest.length === 0 ? first : { kind: 'all', of: found }
  }

  const nested = (member: Node): Predicate | undefined => {
    const members = reader.fields(member, null)
    return members === undefined ? undefined : predicate(member, members)
  }

  function worded(word: (typeof WORDS)[number], member: Node): Predicate | undefined {
    switch (word) {
      case 'all':
      case 'any': {
        const of = (reader.list(member) ?? []).flatMap((one) => nested(one) ?? [])
        if (of.length > 0) return { kind: word, of }
        return reader.problem(member, `${word} needs a list of conditions`, `${word}: [{…}, {…}]`)
      }
      case 'not': {
        const of = nested(member)
        return of === undefined ? undefined : { kind: 'not', of }
      }
      case 'time': {
        const parts = reader.fields(member, ['from', 'until', 'days'])
        const from = threshold('from', parts?.get('from'))
        const until = threshold('until', parts?.get('until'))
        const days = threshold('days', parts?.get('days'))
        if (from === null || until === null) {
          return reader.problem(member, 'time needs both ends', '{from: "08:00", until: "18:00"}')
        }
        return { kind: 'time_window', from, until, ...(days === null ? {} : { days }) }
      }
      case 'count':
      case 'sum':
      case 'dedupe':
        return windowed(word, member)
    }
  }

  function windowed(word: 'count' | 'sum' | 'dedupe', member: Node): Predicate | undefined {
    const keys = { count: ['max'], sum: ['of', 'max'], dedupe: [] }[word]
    const parts = reader.fields(member, [...keys, 'per', 'window'])
    const scope = reader.texts(parts?.get('per'), /^.{1,64}$/, "an input's name")
    const seconds = readDuration(reader, parts?.get('window'))
    const max = word === 'dedupe' ? null : threshold('max', parts?.get('max'), word === 'sum')
    const input = reader.text(parts?.get('of'), /^.{1,64}$/, "an argument's name")
    const window = { scope, window_seconds: seconds ?? 0 }
    if (seconds !== undefined) {
      if (word === 'dedupe') return { kind: 'dedupe_key', ...window }
      if (word === 'count' && max !== null) return { kind: 'count_in_window', ...window, max }
      if (word === 'sum' && max !== null && input !== undefined) {
        return { kind: 'sum_in_window', input, ...window, max }
      }
    }
    return reader.problem(
      member,
      `${word} is not complete`,
      `it needs ${[...keys, 'window'].join(', ')}, as in {window: 24h, per: [$agent]}`,
    )
  }

  function conditions(input: string, member: Node): Predicate[] {
    return [...(reader.fields(member, OPS) ?? [])].flatMap(([name, value]) => {
      const op = OPS.find((known) => known === name)
      return op === undefined ? [] : single(condition(input, op, value))
    })
  }

  function condition(input: string, op: (typeof OPS)[number], node: Node): Predicate | undefined {
    const bound = (asText = false): Threshold => {
      const found = threshold(`${input}_${op}`, node, asText)
      return found ?? { threshold: '' }
    }
    switch (op) {
      case 'exists':
      case 'absent':
        if (node.value === true) return { kind: op, input }
        return reader.problem(node, `${op} takes true`, `write ${op}: true`)
      case 'if_present': {
        const then = combine(node, conditions(input, node))
        return then === undefined ? undefined : { kind: 'if_present', input, then }
      }
      case 'equals':
      case 'sha256':
        return { kind: op === 'equals' ? op : 'hash_equals', input, to: bound() }
      case 'in':
      case 'not_in':
      case 'host_in':
        return { kind: SET_KIND[op], input, set: bound() }
      case 'matches':
        return { kind: 'regex', input, pattern: bound() }
      case 'schema':
        return { kind: 'json_schema', input, schema: schemaBound(input, node) }
      case 'length':
      case 'range': {
        const parts = reader.fields(node, ['min', 'max'])
        const min = threshold(`${input}_min`, parts?.get('min'))
        const max = threshold(`${input}_max`, parts?.get('max'))
        if (min === null && max === null) {
          return reader.problem(node, `${op} needs min or max`, `${op}: {min: 1, max: 10}`)
        }
        return {
          kind: op === 'length' ? 'length' : 'integer_range',
          input,
          ...(min === null ? {} : { min }),
          ...(max === null ? {} : { max }),
        }
      }
      default:
        return { kind: 'decimal_compare', input, op: op satisfies CompareOp, to: bound(true) }
    }
  }

  /** A schema may itself have a member `by`, so it has no look-up form. */
  function schemaBound(input: string, node: Node): Threshold {
    const schema = reader.plain(node)
    let name = `${input.replace(/^\$/, '')}_schema`
    while (name in thresholds) name += '_2'
    if (schema !== undefined) thresholds[name] = schema
    return { threshold: name }
  }

  return { predicate: predicate(node, fields), thresholds }
}

/** Amounts are decimal strings in the full form, also where a whole number was written. */
function texts(value: Plain): Plain {
  if (typeof value === 'number') return String(value)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return record(Object.entries(value).map(([name, member]) => [name, texts(member ?? null)]))
}

const UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function readDuration(reader: Reader, node: Node | undefined): number | undefined {
  const text = reader.text(node, /^[1-9][0-9]{0,8}[smhd]$/, 'a duration like 90s, 15m, 24h or 7d')
  if (text === undefined || node === undefined) return undefined
  const seconds = Number(text.slice(0, -1)) * (UNIT[text.slice(-1)] ?? 0)
  if (seconds <= MAX_WINDOW_SECONDS) return seconds
  return reader.problem(node, 'the window is longer than a year', 'write at most 365d')
}
