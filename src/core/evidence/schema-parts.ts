import type { Plain } from '../json/value.js'

/** JSON Schema 2020-12 in a few words. Nothing here is `{}`: normalization would drop it from the digest (seed §2). */
export type ObjectSchema = { readonly [name: string]: Plain }
export type Schema = boolean | ObjectSchema

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

export const TEXT: Schema = { type: 'string' }
export const NAME: Schema = { type: 'string', minLength: 1 }
export const DIGEST: Schema = { type: 'string', pattern: '^[0-9a-f]{64}$' }
export const SALT: Schema = { type: 'string', pattern: '^[0-9a-f]{32}$' }
export const COUNT: Schema = { type: 'integer', minimum: 0 }
export const DECIMAL: Schema = { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$' }
export const TIME: Schema = {
  type: 'string',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$',
}

export const oneOf = (...values: readonly string[]): ObjectSchema => ({
  type: 'string',
  enum: values,
})
export const listOf = (items: Schema): ObjectSchema => ({ type: 'array', items })
/** A list of exactly these, in this order. */
export const tupleOf = (...prefixItems: readonly Schema[]): ObjectSchema => ({
  type: 'array',
  prefixItems,
  minItems: prefixItems.length,
  maxItems: prefixItems.length,
})
/** An object whose names are data. */
export const mapOf = (additionalProperties: Schema): ObjectSchema => ({
  type: 'object',
  additionalProperties,
})
/** A digest is taken without empty members, so one that may be null may also be gone. */
export const orNull = (schema: Schema): ObjectSchema => ({ anyOf: [schema, { type: 'null' }] })

export type Members = { readonly [name: string]: Schema }

/**
 * An object of exactly these members. Those in `optional` may be missing, among them all that can be
 * null or empty: a digest is taken of the object without them.
 */
export function closed(required: Members, optional: Members = {}): ObjectSchema {
  const names = Object.keys(required)
  const properties = { ...required, ...optional }
  return {
    type: 'object',
    ...(names.length === 0 ? {} : { required: names }),
    additionalProperties: false,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
  }
}
