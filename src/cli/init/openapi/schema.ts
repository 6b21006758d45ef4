import type { ArgType } from '../../../core/manifest/model.js'
import { escapePointer, pointerTokens } from '../../../core/manifest/route/pointer.js'
import type { ArgDraft, Conditions, Lost } from '../draft.js'
import { conditionsOf } from './conditions.js'

/** Whatever YAML or JSON gave; nothing about it is believed. */
export type Json = null | boolean | number | string | readonly Json[] | Schema
export type Schema = { readonly [name: string]: Json }
export type Found = ArgDraft & { readonly conditions: Conditions }
export type Args = { readonly [name: string]: Found }
export type Reader = {
  readonly resolve: (value: Json | undefined) => Json | undefined
  readonly note: Lost
}

const MAX_DEPTH = 4
const MAX_REFERENCES = 32

export const isRecord = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Follows `$ref` inside the document; undefined for one that leads out, in a circle or nowhere. */
export function resolver(document: Json): Reader['resolve'] {
  return (given) => {
    let value = given
    for (let hops = 0; isRecord(value) && typeof value.$ref === 'string'; hops++) {
      const reference: string = value.$ref
      if (hops === MAX_REFERENCES || !reference.startsWith('#/')) return undefined
      let at: Json | undefined = document
      for (const name of pointerTokens(reference.slice(1))) {
        at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined
      }
      value = at
    }
    return value
  }
}

/** A member of the body: an argument, or one that passes unread, by pointer. */
type BodyMember =
  | { readonly kind: 'arg'; readonly name: string; readonly found: Found }
  | { readonly kind: 'unread'; readonly pointer: string }
  /** No part of the body can be told apart. */
  | { readonly kind: 'all_unread' }

/** The members of a JSON body, nested ones by pointer. */
export function* bodyArgs(body: Schema, reader: Reader): Generator<BodyMember> {
  const { resolve, note } = reader
  const content = isRecord(body.content) ? body.content : {}
  const [type, media] = Object.entries(content).find(([name]) => JSON_TYPE.test(name)) ?? []
  const others = Object.keys(content).filter((name) => name !== type)
  if (type === undefined) {
    if (others.length === 0) return
    note(`a body of ${others.join(', ')} is not read and passes unjudged (also.body: any)`)
    yield ALL_UNREAD
    return
  }
  for (const other of others) note(`a body of ${other} is refused: the tool reads JSON`)
  const schema = isRecord(media) ? resolve(media.schema) : undefined
  const root = { pointer: '', prefix: '', required: body.required === true, depth: 0 }
  if (schema !== undefined) yield* members(schema, root, reader)
  else {
    note('the body has no schema that can be followed; it passes unjudged (also.body: any)')
    yield ALL_UNREAD
  }
}
const ALL_UNREAD = { kind: 'all_unread' } as const
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)(?:;|$)/

/** Where in the body a schema applies. */
type At = {
  readonly pointer: string
  /** Of the names of its arguments. */
  readonly prefix: string
  readonly required: boolean
  readonly depth: number
}

function* members(schema: Json, at: At, reader: Reader): Generator<BodyMember> {
  const { pointer, prefix, required, depth } = at
  const { resolve, note } = reader
  const where = pointer === '' ? 'the body' : pointer
  const merged = isRecord(schema) ? withAllOf(schema, reader, where) : null
  if (merged === null || !isRecord(merged.properties)) {
    if (pointer === '') {
      note('the body: not an object with listed properties; it passes unjudged (also.body: any)')
      yield ALL_UNREAD
    } else yield whole(prefix, pointer, required)
    return
  }
  const alternatives = ALTERNATIVES.filter((key) => merged[key] !== undefined)
  if (alternatives.length > 0) note(`${where}: ${alternatives.join(', ')} is not checked`)
  const needed = Array.isArray(merged.required) ? merged.required : []
  for (const [own, given] of Object.entries(merged.properties)) {
    const body = `${pointer}/${escapePointer(own)}`
    const member = resolve(given)
    const must = required && needed.includes(own)
    const name = prefix === '' ? own : `${prefix}_${own}`
    if (isRecord(member) && typesOf(member).includes('object')) {
      const below = { pointer: body, prefix: name, required: must, depth: depth + 1 }
      if (depth === MAX_DEPTH) yield whole(name, body, must)
      else yield* members(member, below, reader)
      continue
    }
    const found = member === undefined ? null : argOf(member, body, { body }, must, reader)
    if (member === undefined) note(`${body}: its reference leads nowhere in this file; not read`)
    yield found === null ? { kind: 'unread', pointer: body } : { kind: 'arg', name, found }
  }
}

/** Read as it stands: people see it, policies and constraints do not. */
const whole = (name: string, body: string, required: boolean): BodyMember => ({
  kind: 'arg',
  name,
  found: { type: 'object', optional: !required, from: { body }, conditions: {} },
})
const ALTERNATIVES = ['oneOf', 'anyOf', 'not', 'if', 'discriminator', 'patternProperties'] as const

/** Plain parts of `allOf` are one object; what is more than that is listed as lost. */
function withAllOf(schema: Schema, { resolve, note }: Reader, where: string): Schema {
  const parts = Array.isArray(schema.allOf) ? schema.allOf.map(resolve) : []
  const plain = parts.filter(isRecord).filter((part) => part.allOf === undefined)
  if (plain.length < parts.length) note(`${where}: a part of allOf cannot be followed; not read`)
  const all = [schema, ...plain]
  const properties = all.flatMap(({ properties: own }) => (isRecord(own) ? [own] : []))
  return {
    ...schema,
    ...(properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) as Schema }),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
  }
}

const typesOf = (schema: Schema): readonly string[] => {
  const types = [schema.type].flat().filter((type) => typeof type === 'string')
  return types.length === 0 && isRecord(schema.properties) ? ['object'] : types
}

/** One scalar, or a list of texts in a body; null, and listed as lost, for what a manifest has no type for. */
export function argOf(
  schema: Json,
  where: string,
  from: ArgDraft['from'],
  required: boolean,
  { resolve, note }: Reader,
): Found | null {
  const unread = (why: string): null => {
    note(`${where}: ${why}; not read`)
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
  // A list in a query or header has as many spellings as there are servers.
  const items = only === 'array' && 'body' in from ? resolve(schema.items) : undefined
  const type = isRecord(items) ? LISTS.get(typesOf(items).join()) : SCALARS.get(only)
  if (type === undefined) return unread(`${only} has no counterpart here`)
  if (type === 'decimal') {
    const float = typeof schema.format === 'string' ? ` (${schema.format})` : ''
    note(`${where}: number${float} becomes an exact decimal; notation like 1e3 is refused`)
  }
  const conditions = conditionsOf(schema, type, where, note)
  return { type, optional: !required || nullable, from, conditions }
}

const SCALARS: ReadonlyMap<string, ArgType> = new Map([
  ['string', 'string'],
  ['integer', 'integer'],
  ['boolean', 'boolean'],
  ['number', 'decimal'],
])
const LISTS: ReadonlyMap<string, ArgType> = new Map([
  ['string', 'strings'],
  ['object', 'objects'],
])
