import { shortestDecimal } from '../../../core/json/decimal.js'
import type { PolicyArgType } from '../../../core/manifest/model.js'
import type { CedarArgument } from './request.js'

export type Converted =
  | { readonly ok: true; readonly value: CedarArgument }
  | { readonly ok: false; readonly why: string }

/** Cedar's decimal is an int64 of ten-thousandths. */
const FRACTION_DIGITS = 4
const MAX_UNITS = 2n ** 63n - 1n
const MIN_UNITS = -(2n ** 63n)
/** Characters: with four more digits these are eighteen, and the range ends within the nineteenth. */
const SURELY_IN_RANGE = 14

/** Crossing into wasm would turn a lone surrogate into U+FFFD: what is judged and what is sent would differ. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/**
 * One typed argument as Cedar wants it. Nothing is coerced, rounded or truncated: a value Cedar cannot
 * hold exactly is refused, and so is every object, so that no `__entity` of an agent gets through.
 */
export function toCedar(type: PolicyArgType, value: unknown): Converted {
  switch (type) {
    case 'string':
      return text(value)
    case 'boolean':
      return typeof value === 'boolean' ? { ok: true, value } : refuse('is not a boolean')
    case 'integer':
      return integer(value)
    case 'decimal':
      return decimal(value)
    case 'strings':
      return strings(value)
  }
}

const refuse = (why: string): Converted => ({ ok: false, why })

function text(value: unknown): Converted {
  if (typeof value !== 'string') return refuse('is not a string')
  if (!isWellFormed(value)) return refuse('is not well-formed text')
  return { ok: true, value }
}

function integer(value: unknown): Converted {
  if (typeof value !== 'number' || !Number.isInteger(value)) return refuse('is not an integer')
  if (!Number.isSafeInteger(value)) return refuse('is an integer beyond 2^53-1')
  return { ok: true, value: value === 0 ? 0 : value }
}

function decimal(value: unknown): Converted {
  const token = typeof value === 'string' ? value : decimalToken(value)
  // Trailing zeros carry no value, so dropping them rounds nothing.
  const plain = token === null ? null : shortestDecimal(token)
  if (plain === null) return refuse('is not a plain decimal')
  const point = plain.indexOf('.')
  const digits = point === -1 ? 0 : plain.length - point - 1
  if (digits > FRACTION_DIGITS) return refuse('has more than 4 fraction digits')
  if (plain.length > SURELY_IN_RANGE && !isInRange(plain, digits)) {
    return refuse("is beyond Cedar's decimal range")
  }
  return {
    ok: true,
    value: { __extn: { fn: 'decimal', arg: point === -1 ? `${plain}.0` : plain } },
  }
}

function isInRange(plain: string, digits: number): boolean {
  const units = BigInt(plain.replace('.', '')) * 10n ** BigInt(FRACTION_DIGITS - digits)
  return units <= MAX_UNITS && units >= MIN_UNITS
}

/** The form that `decimal` below makes, member for member; anything else is no decimal. */
function decimalToken(value: unknown): string | null {
  const extn = onlyMember(value, '__extn')
  if (typeof extn !== 'object' || extn === null || Object.keys(extn).length !== 2) return null
  if (!('fn' in extn) || !('arg' in extn) || extn.fn !== 'decimal') return null
  return typeof extn.arg === 'string' ? extn.arg : null
}

function onlyMember(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return null
  const [entry, ...others] = Object.entries(value)
  return entry !== undefined && others.length === 0 && entry[0] === name ? entry[1] : null
}

function strings(value: unknown): Converted {
  if (!Array.isArray(value)) return refuse('is not a list of strings')
  const out: CedarArgument[] = []
  for (const element of value) {
    const converted = text(element)
    if (!converted.ok) return refuse(`has an element that ${converted.why}`)
    out.push(converted.value)
  }
  return { ok: true, value: out }
}
