import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { formatDecimal, parseDecimal } from '../../json/decimal.js'
import { parse } from '../../json/parse.js'
import {
  isArray,
  isObject,
  JsonNumber,
  type JsonValue,
  type Plain,
  toPlain,
} from '../../json/value.js'
import { searcher } from './regex.js'

/**
 * JSON Schema 2020-12, closed: references inside the schema only, no `format`, linear-time patterns,
 * and nothing whose cost grows faster than the input (`uniqueItems` needs a `maxItems`).
 */
const MAX_UNIQUE = 1000
const regExp = Object.assign((pattern: string) => searcher(pattern), { code: 'searcher' })
const compiled = new WeakMap<object, ValidateFunction>()
let shared: Ajv2020 | null = null

/** Null when the schema can be used; else why not. */
export function schemaFault(schema: Plain): string | null {
  if (typeof schema === 'boolean') return null
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) {
    return 'a schema is a mapping'
  }
  const open = notClosed(schema)
  if (open !== null) return open
  try {
    validator(schema)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : 'the schema cannot be compiled'
  }
}

function notClosed(schema: Plain | undefined): string | null {
  if (schema === null || typeof schema !== 'object') return null
  if (!Array.isArray(schema)) {
    const { $id, $ref, uniqueItems, maxItems } = schema as { [name: string]: Plain }
    if (typeof $id === 'string') return 'a schema here has no $id'
    if (typeof $ref === 'string' && !$ref.startsWith('#')) {
      return '$ref points outside the schema'
    }
    if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= MAX_UNIQUE)) {
      return `uniqueItems needs maxItems of at most ${MAX_UNIQUE} beside it`
    }
  }
  for (const member of Object.values(schema)) {
    const found = notClosed(member as Plain | undefined)
    if (found !== null) return found
  }
  return null
}

function validator(schema: object): ValidateFunction {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  // An instance compiles its meta-schema first, which takes a hundred times longer than one of ours.
  shared ??= new Ajv2020({
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    ownProperties: true,
    logger: false,
    code: { regExp },
  })
  const validate = shared.compile(schema)
  // Ours is the cache that lets go of a manifest that was replaced.
  shared.removeSchema(schema)
  compiled.set(schema, validate)
  return validate
}

/** Null: it cannot be decided (a schema that recurses without end on this value). */
export function conforms(schema: Plain, value: unknown): boolean | null {
  if (typeof schema === 'boolean') return schema
  if (schema === null || typeof schema !== 'object') return null
  try {
    return validator(schema)(value) === true
  } catch {
    return null
  }
}

/** A JSON text for a schema; null when it is not JSON, or a number in it would be judged inexactly. */
export function schemaValueOf(text: string): { readonly value: unknown } | null {
  const parsed = parse(text)
  return parsed.ok && exact(parsed.value) ? { value: toPlain(parsed.value) } : null
}

function exact(value: JsonValue): boolean {
  if (value instanceof JsonNumber) {
    const decimal = parseDecimal(value.token)
    const number = Number(value.token)
    if (decimal === null || (decimal.scale === 0 && !Number.isSafeInteger(number))) return false
    const printed = parseDecimal(String(number))
    return printed !== null && formatDecimal(printed) === formatDecimal(decimal)
  }
  if (isArray(value)) return value.every(exact)
  if (isObject(value)) return [...value.values()].every(exact)
  return true
}
