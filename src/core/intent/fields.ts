import { isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'
import { isUuid } from './uuid.js'

/** The members of one object of a declaration; `path` is where it stands, with a final point. */
export type Fields = { readonly of: JsonObject; readonly path: string }

/** Thrown by these readers and caught in read.ts. Neither text quotes the agent. */
export class FieldFault extends Error {
  readonly field: string
  readonly detail: string
  constructor(field: string, detail: string) {
    super(`${field} ${detail}`)
    this.field = field
    this.detail = detail
  }
}

/** A null is not an absent member: it is refused by what reads it. */
export const isGiven = ({ of }: Fields, name: string): boolean => of.has(name)

function given(fields: Fields, name: string): JsonValue {
  const value = fields.of.get(name)
  if (value === undefined) throw new FieldFault(`${fields.path}${name}`, 'is required')
  return value
}

/** 1 to `most` code points. */
export function textField(fields: Fields, name: string, most: number): string {
  const value = given(fields, name)
  // A code point is one or two code units, so most texts need no counting.
  if (
    typeof value !== 'string' ||
    value === '' ||
    (value.length > most && [...value].length > most)
  ) {
    throw new FieldFault(`${fields.path}${name}`, `is not a string of 1 to ${most} characters`)
  }
  return value
}

export function uuidField(
  fields: Fields,
  name: string,
  says = 'a UUID',
  is: (text: string) => boolean = isUuid,
): string {
  const value = given(fields, name)
  if (typeof value !== 'string' || !is(value)) {
    throw new FieldFault(`${fields.path}${name}`, `is not ${says} in canonical lower-case text`)
  }
  return value
}

export function wordField<const T extends string>(
  fields: Fields,
  name: string,
  words: readonly T[],
): T {
  const value = given(fields, name)
  const word = words.find((allowed) => allowed === value)
  if (word === undefined) {
    throw new FieldFault(`${fields.path}${name}`, `is not one of ${words.join(', ')}`)
  }
  return word
}

/** A number's own token. */
export function numberField(fields: Fields, name: string): string {
  const value = given(fields, name)
  if (!(value instanceof JsonNumber)) throw new FieldFault(`${fields.path}${name}`, 'is no number')
  return value.token
}

export function flagField(fields: Fields, name: string): boolean {
  const value = given(fields, name)
  if (typeof value !== 'boolean') {
    throw new FieldFault(`${fields.path}${name}`, 'is not true or false')
  }
  return value
}

export function objectField(fields: Fields, name: string): Fields {
  const value = given(fields, name)
  if (!isObject(value)) throw new FieldFault(`${fields.path}${name}`, 'is not an object')
  return { of: value, path: `${fields.path}${name}.` }
}

export function uuidsField(fields: Fields, name: string, most: number): readonly string[] {
  const value = given(fields, name)
  const says = `is not a list of at most ${most} UUIDs in canonical lower-case text`
  if (!Array.isArray(value) || value.length > most) {
    throw new FieldFault(`${fields.path}${name}`, says)
  }
  return value.map((each: JsonValue) => {
    if (typeof each !== 'string' || !isUuid(each)) {
      throw new FieldFault(`${fields.path}${name}`, says)
    }
    return each
  })
}
