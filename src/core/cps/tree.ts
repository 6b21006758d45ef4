import { JsonNumber, type JsonValue } from '../json/value.js'
import { pythonFloat } from '../python/number.js'

/** Thrown for a value that a capsule cannot hold; its path is told where the capsule is built. */
export class NotJson extends Error {
  readonly path: string
  constructor(path: string) {
    super(path)
    this.path = path
  }
}

/** Always written with a point (CPS, float rules). */
export const float = (value: number, path = ''): JsonNumber => {
  const text = Number.isFinite(value) ? pythonFloat(value) : null
  if (text === null) throw new NotJson(path)
  return new JsonNumber(text)
}

/**
 * A plain value as a tree that keeps the form of its numbers: what is a whole number in digits, all else as Python
 * writes it. An absent member is no null: it is refused, and so is a number that would not be the same in Python.
 */
export function treeOf(value: unknown, path = ''): JsonValue {
  if (value instanceof JsonNumber) return value
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) throw new NotJson(path)
    return value
  }
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return float(value, path)
    if (!Number.isSafeInteger(value)) throw new NotJson(path)
    return new JsonNumber(String(value === 0 ? 0 : value))
  }
  if (Array.isArray(value)) return value.map((each, index) => treeOf(each, `${path}.${index}`))
  if (value instanceof Map) return members([...value], path)
  if (typeof value === 'object' && isPlain(value)) return members(Object.entries(value), path)
  throw new NotJson(path)
}

const members = (entries: readonly [string, unknown][], path: string): JsonValue =>
  new Map(
    entries.map(([name, value]) => {
      if (/\p{Surrogate}/u.test(name)) throw new NotJson(path)
      return [name, treeOf(value, path === '' ? name : `${path}.${name}`)]
    }),
  )

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || !('toJSON' in value)
}
