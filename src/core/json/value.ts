/**
 * A parsed JSON value that lost nothing: numbers keep their token, objects are Maps, so that a
 * member named `__proto__` is data and order is the order received.
 */
export class JsonNumber {
  readonly token: string
  constructor(token: string) {
    this.token = token
  }
}

export type JsonObject = ReadonlyMap<string, JsonValue>
export type JsonArray = readonly JsonValue[]
export type JsonValue = null | boolean | string | JsonNumber | JsonArray | JsonObject

/** What we build ourselves: plain values with safe integers only. `undefined` members are absent. */
export type Plain =
  | null
  | boolean
  | string
  | number
  | readonly Plain[]
  | { readonly [name: string]: Plain | undefined }

export const isObject = (value: JsonValue | undefined): value is JsonObject => value instanceof Map
export const isArray = (value: JsonValue | undefined): value is JsonArray => Array.isArray(value)

/** Normalizes to nothing as a member (seed §2). */
export const vanishes = (value: JsonValue): boolean =>
  typeof value === 'object' &&
  (value === null ||
    (Array.isArray(value) ? value.length === 0 : value instanceof Map && value.size === 0))

/** The profile's float test is lexical: `1.0`, `1e2` and `-0.0` are floats whatever they equal. */
export const isFloatToken = (token: string): boolean => /[.eE]/.test(token)

export const isSafeIntegerToken = (token: string): boolean =>
  !isFloatToken(token) && (token.length < 16 || Number.isSafeInteger(Number(token)))

/**
 * The plain form for code that wants JavaScript values (JSON Schema, policy context). Numbers become
 * JavaScript numbers, so callers that must be exact read the tree instead. Objects have no prototype.
 */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.token)
  if (isArray(value)) return value.map(toPlain)
  if (isObject(value)) {
    const out: Record<string, unknown> = Object.create(null)
    for (const [name, member] of value) out[name] = toPlain(member)
    return out
  }
  return value
}

/** A parsed value as JSON text that loses nothing: numbers as they were sent, members sorted by name. */
export function exactText(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.token
  if (isArray(value)) return `[${value.map(exactText).join(',')}]`
  if (isObject(value)) {
    const members = [...value].sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${exactText(member)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

/** A Map, a JsonNumber or bytes would be written as some other object, a Date as some other type. */
export const isRecord = (value: object): boolean =>
  !(value instanceof Map || value instanceof JsonNumber || ArrayBuffer.isView(value)) &&
  !('toJSON' in value && typeof value.toJSON === 'function')
