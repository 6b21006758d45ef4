import { pointerTokens } from '../../../core/manifest/route/pointer.js'
import type { ArgDraft, Conditions, Lost } from '../draft.js'

/** Whatever YAML or JSON gave; nothing about it is believed. */
export type Json = null | boolean | number | string | readonly Json[] | Schema
export type Schema = { readonly [name: string]: Json }
export type Found = ArgDraft & { readonly conditions: Conditions }
export type Args = { readonly [name: string]: Found }
export type Reader = {
  readonly resolve: (value: Json | undefined) => Json | undefined
  readonly note: Lost
  /** What the whole of it is called: the body, the arguments. */
  readonly root: string
}

const MAX_REFERENCES = 32

export const isRecord = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Follows `$ref` inside the document; undefined for one that leads out, in a circle or nowhere. */
export function resolver(document: Json): Reader['resolve'] {
  return (given) => {
    let value = given
    for (let hops = 0; isRecord(value) && typeof value.$ref === 'string'; hops++) {
      const reference: string = value.$ref
      if (hops === MAX_REFERENCES || !/^#(?:\/|$)/.test(reference)) return undefined
      let at: Json | undefined = document
      for (const name of pointerTokens(reference.slice(1))) {
        at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined
      }
      value = at
    }
    return value
  }
}

/** Keywords that say nothing about which values are valid; `x-…` are others. */
const SAYS_NOTHING: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'example', 'deprecated', '$comment'],
  ...['readOnly', 'writeOnly', '$schema', '$id', '$defs', 'definitions', 'xml', 'externalDocs'],
])

/** What a schema demands by other keywords than these. */
export const otherDemands = (schema: Schema, ...known: readonly string[]): readonly string[] =>
  Object.keys(schema).filter(
    (key) => !known.includes(key) && !SAYS_NOTHING.has(key) && !key.startsWith('x-'),
  )

export const typesOf = (schema: Schema): readonly string[] => {
  const types = [schema.type].flat().filter((type) => typeof type === 'string')
  if (types.length > 0) return types
  if (isRecord(schema.properties)) return ['object']
  const values = Array.isArray(schema.enum) ? schema.enum : [schema.const]
  return values.length > 0 && values.every((value) => typeof value === 'string') ? ['string'] : []
}

export type Settled = { readonly schema: Schema; readonly nullable: boolean }

/**
 * The schema that applies here: references followed, and what may also be null without it, because to the gate a null
 * is an argument that is not there. Null, and noted, where it cannot be followed.
 */
export function settle(given: Json, where: string, reader: Reader): Settled | null {
  const { resolve, note } = reader
  const schema = resolve(given)
  if (schema === undefined) {
    note(`${where}: its reference leads nowhere in this file; not read`)
    return null
  }
  if (!isRecord(schema)) {
    note(`${where}: no schema; not read`)
    return null
  }
  noteBesideReference(given, where, note)
  const one = withoutNull(onlyBranch(schema, where, reader))
  if (one.nullable) note(`${where}: may be null; a null counts as not there`)
  return one
}

/** References replace what stands beside them, as they did before JSON Schema 2019. */
function noteBesideReference(given: Json, where: string, note: Lost): void {
  if (!isRecord(given) || given.$ref === undefined) return
  const beside = otherDemands(given, '$ref')
  if (beside.length > 0) note(`${where}: ${beside.join(', ')} beside $ref is not checked`)
}

/** An alternative that is none: one branch, or one beside null. */
function onlyBranch(schema: Schema, where: string, { resolve, note }: Reader): Schema {
  for (const key of ['anyOf', 'oneOf', 'allOf'] as const) {
    const { [key]: branches, ...rest } = schema
    if (!Array.isArray(branches)) continue
    const others = branches.filter((one) => key === 'allOf' || !isNull(resolve(one)))
    const [only, ...more] = others
    const branch = resolve(only)
    if (only === undefined || more.length > 0 || !isRecord(branch)) continue
    // Both hold: where they speak of the same, one cannot stand for both.
    const differs = (name: string): boolean =>
      Object.hasOwn(rest, name) && JSON.stringify(rest[name]) !== JSON.stringify(branch[name])
    if (otherDemands(branch).some(differs)) continue
    noteBesideReference(only, where, note)
    const nullable = branch.nullable === true || others.length < branches.length
    return { ...rest, ...branch, ...(nullable && { nullable }) }
  }
  return schema
}

function withoutNull({ nullable, ...schema }: Schema): Settled {
  const types = typesOf(schema)
  if (types.length > 1 && types.includes('null')) {
    const type = types.filter((name) => name !== 'null')
    return { schema: { ...schema, type }, nullable: true }
  }
  return { schema, nullable: nullable === true }
}

const isNull = (schema: Json | undefined): boolean =>
  isRecord(schema) && (schema.type === 'null' || schema.const === null)
