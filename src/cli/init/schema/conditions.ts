import type { ArgType } from '../../../core/manifest/model.js'
import type { Conditions, Lost } from '../draft.js'
import { type Json, otherDemands, type Schema } from './schema.js'

type Out = Record<string, Conditions[string]>
/** Tells that a keyword has no exact counterpart here. */
type Unchecked = (keyword: string) => void

/** Widths of numbers, which every exact number has. */
const WIDTHS = ['int32', 'int64', 'float', 'double']

/** What a schema demands of an argument, in the short form of manifests; the rest is listed as lost. */
export function conditionsOf(
  schema: Schema,
  type: ArgType,
  items: Schema | null,
  where: string,
  note: Lost,
): Conditions {
  const out: Out = {}
  const unchecked: Unchecked = (keyword) => note(`${where}: ${keyword} is not checked`)
  const { format, ...rest } = schema
  const width = typeof format === 'string' && WIDTHS.includes(format)
  if (format !== undefined && !width) unchecked(`format ${String(format)}`)
  const known = [...KEYWORDS[type], 'type', ...listed(schema, type, out, unchecked)]
  switch (type) {
    case 'string':
      sizes(schema, 'minLength', 'maxLength', out, unchecked)
      patterned(schema.pattern, where, note, out)
      break
    case 'strings':
      sizes(schema, 'minItems', 'maxItems', out, unchecked)
      if (items !== null) each(items, where, note, out)
      break
    case 'integer':
      range(schema, out, unchecked)
      break
    case 'decimal':
      amounts(schema, out, unchecked)
      break
    case 'boolean':
    case 'object':
    case 'objects':
      break
  }
  for (const key of otherDemands(rest, ...known)) unchecked(key)
  return out
}

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']
const KEYWORDS: Readonly<Record<ArgType, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  strings: ['minItems', 'maxItems', 'items'],
  integer: BOUNDS,
  decimal: BOUNDS,
  boolean: [],
  object: [],
  objects: ['items'],
}

/** `enum` and `const`, which are one value or several; the keywords that it dealt with. */
function listed(schema: Schema, type: ArgType, out: Out, unchecked: Unchecked): readonly string[] {
  const key = schema.enum === undefined ? 'const' : 'enum'
  const given = key === 'enum' ? schema.enum : [schema.const]
  if (schema[key] === undefined) return []
  const values = Array.isArray(given) ? given.filter((value) => value !== null) : []
  const [only] = values
  const amount = type === 'decimal' && values.length === 1 ? exact(only) : null
  if (amount !== null) out.eq = amount
  else if (values.length > 0 && values.every((value) => IS_OF[type]?.(value) === true)) {
    out.in = values as readonly (string | number | boolean)[]
  } else unchecked(key)
  return [key]
}

const isInteger = (value: Json | undefined): value is number => Number.isSafeInteger(value)
const IS_OF: Partial<Record<ArgType, (value: Json | undefined) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: isInteger,
  boolean: (value) => typeof value === 'boolean',
}
/** Plain notation only; what JavaScript would print with an exponent has no exact text. */
const exact = (value: Json | undefined): string | null =>
  typeof value === 'number' && /^-?\d+(?:\.\d+)?$/.test(String(value)) ? String(value) : null

/** What is demanded of every element, where a condition on the list asks every element too. */
function each(items: Schema, where: string, note: Lost, out: Out): void {
  const inside = `${where} (each)`
  const unchecked: Unchecked = (keyword) => note(`${inside}: ${keyword} is not checked`)
  const known = listed(items, 'string', out, unchecked)
  patterned(items.pattern, inside, note, out)
  for (const key of otherDemands(items, 'type', 'pattern', ...known)) unchecked(key)
}

function sizes(schema: Schema, low: string, high: string, out: Out, unchecked: Unchecked): void {
  const size = (key: string): number | null => {
    const value = schema[key]
    if (isInteger(value) && value >= 0) return value
    if (value !== undefined) unchecked(key)
    return null
  }
  between('length', size(low), size(high), out)
}

function range(schema: Schema, out: Out, unchecked: Unchecked): void {
  const bound = (key: string, shift: 0 | 1 | -1): readonly number[] => {
    const value = schema[key]
    if (isInteger(value) && isInteger(value + shift)) return [value + shift]
    if (value !== undefined) unchecked(key)
    return []
  }
  const low = [...bound('minimum', 0), ...bound('exclusiveMinimum', 1)]
  const high = [...bound('maximum', 0), ...bound('exclusiveMaximum', -1)]
  between(
    'range',
    low.length === 0 ? null : Math.max(...low),
    high.length === 0 ? null : Math.min(...high),
    out,
  )
}

function between(name: string, min: number | null, max: number | null, out: Out): void {
  const bounds = { ...(min === null ? {} : { min }), ...(max === null ? {} : { max }) }
  if (Object.keys(bounds).length > 0) out[name] = bounds
}

const COMPARED = {
  gte: 'minimum',
  gt: 'exclusiveMinimum',
  lte: 'maximum',
  lt: 'exclusiveMaximum',
} as const

function amounts(schema: Schema, out: Out, unchecked: Unchecked): void {
  for (const [op, key] of Object.entries(COMPARED)) {
    if (schema[key] === undefined) continue
    const bound = exact(schema[key])
    if (bound === null) unchecked(key)
    else out[op] = bound
  }
}

function patterned(pattern: Json | undefined, where: string, note: Lost, out: Out): void {
  if (pattern === undefined) return
  // Ours matches the whole text; theirs does only between anchors.
  const [, inner] = /^\^((?:[^\\]|\\.)*)\$$/s.exec(String(pattern)) ?? []
  if (typeof pattern !== 'string' || inner === undefined || isSplit(inner)) {
    note(`${where}: pattern ${String(pattern)} is not checked (not one text between ^ and $)`)
    return
  }
  out.matches = inner
  if (/\\[sS]|\./.test(inner)) {
    note(`${where}: pattern ${pattern} is read as RE2, whose \\s and . differ in rare characters`)
  }
}

/** Whether an alternative stands outside all brackets, where the anchors belong to one of them only. */
function isSplit(pattern: string): boolean {
  let depth = 0
  let inClass = false
  for (const [token] of pattern.matchAll(/\\.|./gs)) {
    if (inClass) inClass = token !== ']'
    else if (token === '[') inClass = true
    else if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === '|' && depth === 0) return true
  }
  return false
}
