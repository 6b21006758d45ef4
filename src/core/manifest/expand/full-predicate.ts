import type { CompareOp, Predicate, Threshold } from '../model.js'
import type { Fields, Node, Reader } from './tree.js'

export const COMPARE_OPS = ['lt', 'lte', 'gt', 'gte', 'eq', 'ne'] as const
export const MAX_WINDOW_SECONDS = 31_536_000
const INPUT = /^\$?[A-Za-z][A-Za-z0-9_]{0,63}$/

const KEYS: Readonly<Record<Predicate['kind'], readonly string[]>> = {
  exists: ['input'],
  absent: ['input'],
  equals: ['input', 'to'],
  in_set: ['input', 'set'],
  not_in_set: ['input', 'set'],
  regex: ['input', 'pattern'],
  length: ['input', 'min', 'max'],
  integer_range: ['input', 'min', 'max'],
  decimal_compare: ['input', 'op', 'to'],
  json_schema: ['input', 'schema'],
  url_host_in: ['input', 'set'],
  hash_equals: ['input', 'to'],
  time_window: ['from', 'until', 'days'],
  count_in_window: ['scope', 'window_seconds', 'max'],
  sum_in_window: ['input', 'scope', 'window_seconds', 'max'],
  dedupe_key: ['scope', 'window_seconds'],
  if_present: ['input', 'then'],
  all: ['of'],
  any: ['of'],
  not: ['of'],
}
const KINDS = Object.keys(KEYS) as readonly Predicate['kind'][]

/** The predicate as the model has it, kind by kind. */
export function readPredicate(reader: Reader, node: Node | undefined): Predicate | undefined {
  const open = reader.fields(node, null)
  if (node === undefined || open === undefined) return undefined
  const kind = reader.oneOf(open.get('kind'), KINDS)
  if (kind === undefined) {
    return open.has('kind')
      ? undefined
      : reader.problem(node, 'the predicate has no kind', `kind: ${KINDS.join(' | ')}`)
  }
  const fields = reader.fields(node, ['kind', ...KEYS[kind]])
  if (fields === undefined) return undefined
  const predicate = readKind(reader, kind, fields)
  return (
    predicate ??
    reader.problem(node, `${kind} is not complete`, `it needs ${KEYS[kind].join(', ')}`)
  )
}

function readKind(reader: Reader, kind: Predicate['kind'], fields: Fields): Predicate | undefined {
  const input = reader.text(fields.get('input'), INPUT, "an input's name")
  const bound = (name: string): Threshold | undefined => readThreshold(reader, fields.get(name))
  switch (kind) {
    case 'exists':
    case 'absent':
      return input === undefined ? undefined : { kind, input }
    case 'equals':
    case 'hash_equals': {
      const to = bound('to')
      return input === undefined || to === undefined ? undefined : { kind, input, to }
    }
    case 'in_set':
    case 'not_in_set':
    case 'url_host_in': {
      const set = bound('set')
      return input === undefined || set === undefined ? undefined : { kind, input, set }
    }
    case 'regex': {
      const pattern = bound('pattern')
      return input === undefined || pattern === undefined ? undefined : { kind, input, pattern }
    }
    case 'length':
    case 'integer_range': {
      const min = bound('min')
      const max = bound('max')
      if (input === undefined || (min === undefined && max === undefined)) return undefined
      return {
        kind,
        input,
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
      }
    }
    case 'decimal_compare': {
      const op = reader.oneOf<CompareOp>(fields.get('op'), COMPARE_OPS)
      const to = bound('to')
      if (input === undefined || op === undefined || to === undefined) return undefined
      return { kind, input, op, to }
    }
    case 'json_schema': {
      const schema = bound('schema')
      return input === undefined || schema === undefined ? undefined : { kind, input, schema }
    }
    case 'time_window': {
      const from = bound('from')
      const until = bound('until')
      const days = bound('days')
      if (from === undefined || until === undefined) return undefined
      return { kind, from, until, ...(days === undefined ? {} : { days }) }
    }
    case 'count_in_window':
    case 'sum_in_window':
    case 'dedupe_key':
      return readWindow(reader, kind, fields, input, bound('max'))
    case 'if_present': {
      const then = readPredicate(reader, fields.get('then'))
      return input === undefined || then === undefined ? undefined : { kind, input, then }
    }
    case 'all':
    case 'any': {
      const of = (reader.list(fields.get('of')) ?? []).flatMap(
        (member) => readPredicate(reader, member) ?? [],
      )
      return of.length === 0 ? undefined : { kind, of }
    }
    case 'not': {
      const of = readPredicate(reader, fields.get('of'))
      return of === undefined ? undefined : { kind, of }
    }
  }
}

function readWindow(
  reader: Reader,
  kind: 'count_in_window' | 'sum_in_window' | 'dedupe_key',
  fields: Fields,
  input: string | undefined,
  max: Threshold | undefined,
): Predicate | undefined {
  const scope = (reader.list(fields.get('scope')) ?? []).flatMap(
    (member) => reader.text(member, INPUT, "an input's name") ?? [],
  )
  const seconds = reader.integer(fields.get('window_seconds'), 1, MAX_WINDOW_SECONDS)
  if (seconds === undefined) return undefined
  if (kind === 'dedupe_key') return { kind, scope, window_seconds: seconds }
  if (max === undefined) return undefined
  if (kind === 'count_in_window') return { kind, scope, window_seconds: seconds, max }
  return input === undefined ? undefined : { kind, input, scope, window_seconds: seconds, max }
}

function readThreshold(reader: Reader, node: Node | undefined): Threshold | undefined {
  const fields = reader.fields(node, ['threshold', 'by'])
  const threshold = reader.text(fields?.get('threshold'), /^.{1,128}$/, "a threshold's name")
  const by = reader.text(fields?.get('by'), INPUT, "an input's name")
  if (threshold === undefined) return undefined
  return by === undefined ? { threshold } : { threshold, by }
}
