import {
  isArray,
  isObject,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  type Plain,
} from './value.js'

class Inexact extends Error {}

/**
 * The parsed value as JavaScript has it, for writers that take such values; null where a number has no
 * reproducible form (see `numberFaults`). `-0` becomes 0, as RFC 8785 writes it.
 */
export function exactPlain(
  value: JsonValue,
  mode: 'as_is' | 'normalized',
  without: readonly string[] = [],
): { readonly value: Plain } | null {
  const normal = mode === 'normalized'
  try {
    const plain = isObject(value) ? members(value, normal, without) : plainOf(value, normal)
    return { value: plain ?? empty(value) }
  } catch (error) {
    if (error instanceof Inexact) return null
    throw error
  }
}

/** Undefined: it normalizes to nothing (null, [] or {}), so that a member holding it goes too. */
function plainOf(value: JsonValue, normal: boolean): Plain | undefined {
  if (value === null) return normal ? undefined : null
  if (typeof value !== 'object') return value
  if (value instanceof JsonNumber) return integer(value)
  return isArray(value) ? elements(value, normal) : members(value, normal, [])
}

const empty = (value: JsonValue): Plain => (value === null ? null : isArray(value) ? [] : {})

function integer({ token }: JsonNumber): number {
  if (!isSafeIntegerToken(token)) throw new Inexact()
  return token === '-0' ? 0 : Number(token)
}

/** Elements are never dropped: [null], [[]] and [{}] stay. */
function elements(value: readonly JsonValue[], normal: boolean): Plain | undefined {
  if (normal && value.length === 0) return undefined
  return value.map((element) => plainOf(element, normal) ?? empty(element))
}

/** Without a prototype: a member named `__proto__` is data. */
function members(
  value: JsonObject,
  normal: boolean,
  without: readonly string[],
): Plain | undefined {
  const out: Record<string, Plain> = Object.create(null)
  let any = false
  for (const [name, member] of value) {
    if (without.includes(name)) continue
    const plain = plainOf(member, normal)
    if (plain === undefined) continue
    out[name] = plain
    any = true
  }
  return normal && !any ? undefined : out
}
