import type { ArgType } from '../../../core/manifest/model.js'
import type { Conditions, Lost } from '../draft.js'
import type { Json, Schema } from './schema.js'

const isInteger = (value: Json | undefined): value is number => Number.isSafeInteger(value)
/** Plain notation only; what JavaScript would print with an exponent has no exact text. */
const exact = (value: Json | undefined): string | null =>
  typeof value === 'number' && /^-?\d+(?:\.\d+)?$/.test(String(value)) ? String(value) : null

/** What a schema demands of an argument, in the short form of manifests; the rest is listed as lost. */
export function conditionsOf(schema: Schema, type: ArgType, where: string, note: Lost): Conditions {
  const out: Record<string, Conditions[string]> = {}
  const list = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (Array.isArray(list)) {
    const values = list.filter((value) => value !== null)
    const fits = values.every((value) =>
      type === 'integer' ? isInteger(value) : type === 'string' && typeof value === 'string',
    )
    if (fits && values.length > 0) out.in = values as readonly (string | number)[]
    else note(`${where}: enum is not checked`)
  }
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, pattern } = schema
  if (type === 'string') Object.assign(out, bounds('length', minLength, maxLength, 0))
  if (type === 'strings') Object.assign(out, bounds('length', minItems, maxItems, 0))
  if (type === 'integer') Object.assign(out, bounds('range', minimum, maximum))
  if (type === 'decimal') {
    const min = exact(minimum)
    const max = exact(maximum)
    if (min !== null) out.gte = min
    if (max !== null) out.lte = max
  }
  if (type === 'string' && typeof pattern === 'string') {
    // Ours matches the whole text; theirs does only between anchors.
    const [, inner] = /^\^((?:[^|\\]|\\.)*[^\\|])\$$/.exec(pattern) ?? []
    if (inner === undefined) note(`${where}: pattern ${pattern} is not checked (not ^…$)`)
    else out.matches = inner
  }
  for (const key of UNCHECKED) {
    if (schema[key] !== undefined) note(`${where}: ${key} is not checked`)
  }
  return out
}
const UNCHECKED = [
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'uniqueItems',
  'contentEncoding',
] as const

function bounds(
  name: string,
  low: Json | undefined,
  high: Json | undefined,
  least = Number.MIN_SAFE_INTEGER,
): Conditions {
  const usable = (value: Json | undefined): value is number => isInteger(value) && value >= least
  const out = { ...(usable(low) && { min: low }), ...(usable(high) && { max: high }) }
  return Object.keys(out).length === 0 ? {} : { [name]: out }
}
