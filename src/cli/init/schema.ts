import type { ArgType } from '../../core/manifest/model.js'
import type { ArgDraft, Conditions } from './draft.js'

/** Whatever YAML or JSON gave; nothing about it is believed. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json }
export type Lost = (what: string) => void
export type Found = ArgDraft & { readonly conditions: Conditions }
type Schema = { readonly [name: string]: Json }
type Resolve = (value: Json | undefined) => Json | undefined

const MAX_DEPTH = 4
const MAX_REFERENCES = 32

export const isRecord = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Follows `$ref` inside the document; undefined for one that leads out, in a circle or nowhere. */
export function resolver(document: Json): Resolve {
  return (given) => {
    let value = given
    for (let hops = 0; isRecord(value) && typeof value.$ref === 'string'; hops++) {
      const reference: string = value.$ref
      if (hops === MAX_REFERENCES || !reference.startsWith('#/')) return undefined
      let at: Json | undefined = document
      for (const part of reference.slice(2).split('/')) {
        const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
        at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined
      }
      value = at
    }
    return value
  }
}

/** A member of the body: an argument, or one that passes unread, by pointer. */
export type BodyMember =
  | { readonly kind: 'arg'; readonly name: string; readonly found: Found }
  | { readonly kind: 'unread'; readonly pointer: string }
  /** No part of the body can be told apart. */
  | { readonly kind: 'all_unread' }

/** The members of a JSON body, nested ones by pointer. */
export function* bodyArgs(body: Schema, resolve: Resolve, tell: Lost): Generator<BodyMember> {
  const content = isRecord(body.content) ? body.content : {}
  const [type, media] = Object.entries(content).find(([name]) => JSON_TYPE.test(name)) ?? []
  const others = Object.keys(content).filter((name) => name !== type)
  if (type === undefined) {
    if (others.length === 0) return
    tell(`a body of ${others.join(', ')} is not read and passes unjudged (also.body: any)`)
    yield { kind: 'all_unread' }
    return
  }
  for (const other of others) tell(`a body of ${other} is refused: the tool reads JSON`)
  const schema = isRecord(media) ? resolve(media.schema) : undefined
  if (schema === undefined) {
    tell('the body has no schema that can be followed; it passes unjudged (also.body: any)')
    yield { kind: 'all_unread' }
    return
  }
  yield* members(schema, '', '', body.required === true, 0, resolve, tell)
}
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)(?:;|$)/

function* members(
  schema: Json,
  pointer: string,
  prefix: string,
  required: boolean,
  depth: number,
  resolve: Resolve,
  tell: Lost,
): Generator<BodyMember> {
  const where = pointer === '' ? 'the body' : pointer
  const merged = isRecord(schema) ? withAllOf(schema, resolve, tell, where) : null
  if (merged === null || !isRecord(merged.properties)) {
    if (pointer === '') {
      tell('the body: not an object with listed properties; it passes unjudged (also.body: any)')
      yield { kind: 'all_unread' }
    } else yield whole(prefix, pointer, 'object', required)
    return
  }
  const alternatives = ALTERNATIVES.filter((key) => merged[key] !== undefined)
  if (alternatives.length > 0) tell(`${where}: ${alternatives.join(', ')} is not checked`)
  const needed = Array.isArray(merged.required) ? merged.required : []
  for (const [name, given] of Object.entries(merged.properties)) {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const member = resolve(given)
    const must = required && needed.includes(name)
    const wanted = prefix === '' ? name : `${prefix}_${name}`
    if (isRecord(member) && typesOf(member).includes('object')) {
      if (depth === MAX_DEPTH) yield whole(wanted, at, 'object', must)
      else yield* members(member, at, wanted, must, depth + 1, resolve, tell)
      continue
    }
    const found = member === undefined ? null : argOf(member, at, { body: at }, must, resolve, tell)
    if (member === undefined) tell(`${at}: its reference leads nowhere in this file; not read`)
    yield found === null ? { kind: 'unread', pointer: at } : { kind: 'arg', name: wanted, found }
  }
}

/** Read as it stands: people see it, policies and constraints do not. */
const whole = (name: string, pointer: string, type: ArgType, required: boolean): BodyMember => ({
  kind: 'arg',
  name,
  found: { type, optional: !required, from: { body: pointer }, conditions: {} },
})
const ALTERNATIVES = ['oneOf', 'anyOf', 'not', 'if', 'discriminator', 'patternProperties'] as const

/** Plain parts of `allOf` are one object; anything cleverer is told. */
function withAllOf(schema: Schema, resolve: Resolve, tell: Lost, where: string): Schema {
  const parts = Array.isArray(schema.allOf) ? schema.allOf.map(resolve) : []
  if (parts.some((part) => !isRecord(part) || part.allOf !== undefined)) {
    tell(`${where}: a part of allOf cannot be followed; not read`)
  }
  const sound = [schema, ...parts.filter((part) => isRecord(part) && part.allOf === undefined)]
  const all = sound.filter(isRecord)
  const lists = all.flatMap(({ required }) => (Array.isArray(required) ? required : []))
  const properties = all.flatMap(({ properties: own }) => (isRecord(own) ? [own] : []))
  return {
    ...schema,
    ...(properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) as Schema }),
    required: lists,
    additionalProperties: all.every((part) => part.additionalProperties !== false),
  }
}

const typesOf = (schema: Schema): readonly string[] => {
  const given = schema.type
  const types = (Array.isArray(given) ? given : [given]).filter(
    (type): type is string => typeof type === 'string',
  )
  return types.length === 0 && isRecord(schema.properties) ? ['object'] : types
}

/** One scalar, or a list of texts in a body; null, and told, for what a manifest has no type for. */
export function argOf(
  schema: Json,
  where: string,
  from: ArgDraft['from'],
  required: boolean,
  resolve: Resolve,
  tell: Lost,
): Found | null {
  const unread = (why: string): null => {
    tell(`${where}: ${why}; not read`)
    return null
  }
  if (!isRecord(schema)) return unread('no schema')
  const alternatives = ['oneOf', 'anyOf', 'allOf', 'not'].filter((key) => schema[key] !== undefined)
  if (alternatives.length > 0) return unread(`${alternatives.join(', ')} has no counterpart`)
  const types = typesOf(schema)
  const nullable = types.includes('null') || schema.nullable === true
  const [only, ...more] = types.filter((type) => type !== 'null')
  if (only === undefined) return unread('no type')
  if (more.length > 0) return unread(`several types (${types.join(', ')})`)
  const type = typeOf(only, schema, from, resolve)
  if (type === null) return unread(`${only} has no counterpart here`)
  if (type === 'decimal') {
    const float = typeof schema.format === 'string' ? ` (${schema.format})` : ''
    tell(`${where}: number${float} becomes an exact decimal; notation like 1e3 is refused`)
  }
  return {
    type,
    optional: !required || nullable,
    from,
    conditions: conditionsOf(schema, type, where, tell),
  }
}

function typeOf(
  type: string,
  schema: Schema,
  from: ArgDraft['from'],
  resolve: Resolve,
): ArgType | null {
  switch (type) {
    case 'string':
    case 'integer':
    case 'boolean':
      return type
    case 'number':
      return 'decimal'
    case 'array': {
      const items = resolve(schema.items)
      const of = isRecord(items) ? typesOf(items).join() : ''
      // A list in a query or header has as many spellings as there are servers.
      if (!('body' in from)) return null
      return of === 'string' ? 'strings' : of === 'object' ? 'objects' : null
    }
    default:
      return null
  }
}

const integral = (value: Json | undefined): value is number => Number.isSafeInteger(value)
/** Plain notation only; what JavaScript would print with an exponent has no exact text. */
const exact = (value: Json | undefined): string | null =>
  typeof value === 'number' && /^-?\d+(?:\.\d+)?$/.test(String(value)) ? String(value) : null

function conditionsOf(schema: Schema, type: ArgType, where: string, tell: Lost): Conditions {
  const out: Record<string, Conditions[string]> = {}
  const list = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (Array.isArray(list)) {
    const values = list.filter((value) => value !== null)
    const fits = values.every((value) =>
      type === 'integer' ? integral(value) : type === 'string' && typeof value === 'string',
    )
    if (fits && values.length > 0) out.in = values as readonly (string | number)[]
    else tell(`${where}: enum is not checked`)
  }
  if (type === 'string' || type === 'strings') {
    const [low, high] = type === 'string' ? ['minLength', 'maxLength'] : ['minItems', 'maxItems']
    const length = bounds(schema[low as string], schema[high as string], 0)
    if (length !== null) out.length = length
  }
  if (type === 'integer') {
    const range = bounds(schema.minimum, schema.maximum)
    if (range !== null) out.range = range
  }
  if (type === 'decimal') {
    const min = exact(schema.minimum)
    const max = exact(schema.maximum)
    if (min !== null) out.gte = min
    if (max !== null) out.lte = max
  }
  const pattern = schema.pattern
  if (type === 'string' && typeof pattern === 'string') {
    // Ours matches the whole text; theirs does only between anchors.
    const [, inner] = /^\^((?:[^|\\]|\\.)*[^\\|])\$$/.exec(pattern) ?? []
    if (inner === undefined) tell(`${where}: pattern ${pattern} is not checked (not ^…$)`)
    else out.matches = inner
  }
  for (const key of UNCHECKED) {
    if (schema[key] !== undefined) tell(`${where}: ${key} is not checked`)
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
  low: Json | undefined,
  high: Json | undefined,
  least = Number.MIN_SAFE_INTEGER,
): Conditions | null {
  const usable = (value: Json | undefined): value is number => integral(value) && value >= least
  const out = { ...(usable(low) ? { min: low } : {}), ...(usable(high) ? { max: high } : {}) }
  return Object.keys(out).length === 0 ? null : out
}
