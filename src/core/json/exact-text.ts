import { isArray, isObject, JsonNumber, type JsonValue } from './value.js'

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
