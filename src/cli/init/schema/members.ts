import { escapePointer } from '../../../core/manifest/route/pointer.js'
import { argOf } from './arg.js'
import {
  type Found,
  isRecord,
  type Json,
  otherDemands,
  type Reader,
  type Schema,
  settle,
  typesOf,
} from './schema.js'

/** A member of what is sent: an argument, or one that passes unread, by pointer. */
export type Member =
  | { readonly kind: 'arg'; readonly name: string; readonly found: Found }
  | { readonly kind: 'unread'; readonly pointer: string }
  /** No part can be told apart. */
  | { readonly kind: 'all_unread' }

export const ALL_UNREAD = { kind: 'all_unread' } as const
const MAX_DEPTH = 4
/** Objects that are gone into: what a few references describe can be without end. */
const MAX_OBJECTS = 64

/** The members of a JSON object, nested ones by pointer. */
export function membersOf(schema: Json, required: boolean, reader: Reader): Generator<Member> {
  const root = { pointer: '', prefix: '', required, depth: 0 }
  return members(schema, root, { ...reader, left: MAX_OBJECTS })
}
type Walk = Reader & { left: number }

/** Where a schema applies. */
type At = {
  readonly pointer: string
  /** Of the names of its arguments. */
  readonly prefix: string
  readonly required: boolean
  readonly depth: number
}

function* members(schema: Json, at: At, walk: Walk): Generator<Member> {
  const { pointer, prefix, required, depth } = at
  const { note } = walk
  const where = pointer === '' ? walk.root : pointer
  const merged = isRecord(schema) ? withAllOf(schema, walk, where) : null
  if (merged === null || !isRecord(merged.properties)) {
    if (pointer === '') {
      note(`${where}: not an object with listed properties; it passes unjudged (also.body: any)`)
      yield ALL_UNREAD
    } else yield whole(at, merged, walk)
    return
  }
  // What it does not list would be refused, although it is meant to be sent.
  if (pointer !== '' && (isOpen(merged) || depth > MAX_DEPTH || walk.left === 0)) {
    yield whole(at, merged, walk)
    return
  }
  walk.left--
  if (isOpen(merged)) note(`${where}: members that it does not list are refused`)
  for (const key of otherDemands(merged, ...SAID)) note(`${where}: ${key} is not checked`)
  const needed = Array.isArray(merged.required) ? merged.required : []
  for (const name of needed) {
    if (typeof name !== 'string' || Object.hasOwn(merged.properties, name)) continue
    const missing = `${pointer}/${escapePointer(name)}`
    note(`${missing}: required, but not described; not read`)
    yield { kind: 'unread', pointer: missing }
  }
  for (const [own, given] of Object.entries(merged.properties)) {
    const body = `${pointer}/${escapePointer(own)}`
    if (given === false) {
      note(`${body}: no value of it is valid; refused`)
      continue
    }
    const settled = settle(given, body, walk)
    const must = required && needed.includes(own) && settled?.nullable !== true
    if (!required && needed.includes(own)) note(`${body}: required in ${where}; not checked`)
    const name = prefix === '' ? own : `${prefix}_${own}`
    if (settled !== null && isObjectOnly(settled.schema)) {
      const below = { pointer: body, prefix: name, required: must, depth: depth + 1 }
      const inside = [...members(settled.schema, below, walk)]
      if (must && !inside.some((member) => member.kind === 'arg' && !member.found.optional)) {
        note(`${body}: required, which is not checked: nothing in it is`)
      }
      yield* inside
      continue
    }
    const found = settled === null ? null : argOf(settled, body, { body }, must, walk)
    yield found === null ? { kind: 'unread', pointer: body } : { kind: 'arg', name, found }
  }
}

const isObjectOnly = (schema: Schema): boolean => typesOf(schema).join() === 'object'

const SAID = ['type', 'properties', 'required', 'allOf', 'additionalProperties']
const OPENING = ['additionalProperties', 'unevaluatedProperties', 'patternProperties'] as const
/** Says itself that there may be more than it lists. */
export const isOpen = (schema: Schema): boolean =>
  OPENING.some((key) => schema[key] !== undefined && schema[key] !== false)

/** Read as it stands: people see it, policies and constraints do not. */
function whole({ pointer, prefix, required }: At, schema: Schema | null, { note }: Reader): Member {
  const inside = schema === null ? [] : otherDemands(schema, 'type')
  const demands = inside.filter((key) => !(key === 'required' && isEmpty(schema?.required)))
  if (demands.length > 0)
    note(`${pointer}: read whole; what is in it (${demands.join(', ')}) is not checked`)
  const found: Found = {
    type: 'object',
    optional: !required,
    from: { body: pointer },
    conditions: {},
  }
  return { kind: 'arg', name: prefix, found }
}
const isEmpty = (list: Json | undefined): boolean => Array.isArray(list) && list.length === 0

/** Plain parts of `allOf` are one object; what is more than that is listed as lost. */
function withAllOf(schema: Schema, { resolve, note }: Reader, where: string): Schema {
  if (schema.allOf === undefined) return schema
  const parts = Array.isArray(schema.allOf) ? schema.allOf.map(resolve) : []
  const plain = parts.filter(isRecord).filter((part) => part.allOf === undefined)
  if (plain.length < parts.length || !Array.isArray(schema.allOf)) {
    note(`${where}: a part of allOf cannot be followed; not read`)
  }
  const properties = new Map<string, Json>()
  for (const { properties: own } of [schema, ...plain]) {
    for (const [name, described] of isRecord(own) ? Object.entries(own) : []) {
      if (properties.has(name)) {
        note(`${where}: ${name} is described twice in allOf; only the last is checked`)
      }
      properties.set(name, described)
    }
  }
  for (const part of plain) {
    const known = ['type', 'properties', 'required', 'additionalProperties']
    const more = otherDemands(part, ...known.slice(0, isOpen(part) ? 3 : 4))
    for (const key of more) note(`${where}: ${key} in allOf is not checked`)
  }
  return {
    ...schema,
    ...(properties.size === 0 ? {} : { properties: Object.fromEntries(properties) }),
    required: [schema, ...plain].flatMap(({ required }) =>
      Array.isArray(required) ? required : [],
    ),
  }
}
