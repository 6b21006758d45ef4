import {
  compareDecimals,
  type Decimal,
  formatDecimal,
  parseDecimal,
} from '../../../core/json/decimal.js'
import { JsonNumber, type JsonValue } from '../../../core/json/value.js'
import { typedValue } from '../../../core/manifest/constraint/typed-value.js'
import type { ArgType } from '../../../core/manifest/model.js'
import type { TestValue } from '../draft.js'

type Raw =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'text'; readonly value: string }

/** The narrowest that fits every value is what is written. */
const NARROWEST_FIRST = ['boolean', 'integer', 'decimal', 'string', 'strings', 'objects'] as const
/** A text is an amount when it is written like one; "12" may as well be a name. */
const AMOUNT = /^-?(?:0|[1-9]\d*)\.\d{2,}$/

/** One field of a request over many calls: which types every value seen there had. */
export type Field = ReturnType<typeof newField>

export const newField = (spelling: string, wanted: string) => ({
  /** As first spelled: a query's name, a body's pointer. */
  spelling,
  wanted,
  /** Every spelling seen, for what passes without being read. */
  names: new Set([spelling]),
  types: NARROWEST_FIRST as readonly ArgType[],
  /** In how many calls there was a value, and in how many an object, whose members are fields too. */
  seen: 0,
  objects: 0,
  /** Why it cannot be read as one argument. */
  fault: null as string | null,
  max: null as Decimal | null,
  /** Its value in the first call of the shape. */
  example: null as Raw | null,
})

export function see(field: Field, raw: Raw, first: boolean): void {
  field.seen++
  if (first) field.example = raw
  // Asked of the gate's own reader: what it would refuse is not what was seen.
  field.types = field.types.filter((type) => fits(type, raw))
  const token = raw.value instanceof JsonNumber ? raw.value.token : raw.value
  const number = typeof token === 'string' ? parseDecimal(token) : null
  if (number !== null && (field.max === null || compareDecimals(number, field.max) > 0)) {
    field.max = number
  }
}

function fits(type: ArgType, raw: Raw): boolean {
  const { kind, value } = raw
  const isText = kind === 'json' && typeof value === 'string'
  if (type === 'decimal' && isText && !AMOUNT.test(value)) return false
  return typedValue(type, raw) !== null
}

export const typeOf = ({ types }: Field): ArgType | null => types[0] ?? null

/** The largest value seen as a condition that may be wanted; null for what has no order. */
export function suggestion(type: ArgType, { max }: Field): string | null {
  if (max === null) return null
  const text = formatDecimal(max)
  if (type === 'decimal') return `{lte: "${text}"}`
  return type === 'integer' && Number.isSafeInteger(Number(text)) ? `{range: {max: ${text}}}` : null
}

/** Never copied from encrypted evidence into a plain file. */
const SECRET = /pass|secret|token|key|credential|auth|signature|session|cvc|cvv|iban|card|ssn|pin$/i
const LONGEST = 200

/** The value seen, as a manifest's test writes it; null when a test cannot. */
export function testValue(name: string, type: ArgType, raw: Raw): TestValue | null {
  const typed = typedValue(type, raw)
  switch (typed?.type) {
    case 'integer': {
      const number = Number(typed.value)
      return Number.isSafeInteger(number) ? number : null
    }
    case 'string':
      return shown(name, typed.value)
    case 'strings':
      return typed.value.slice(0, 5).map((text) => shown(name, text))
    case 'decimal':
    case 'boolean':
      return typed.value
    default:
      return null
  }
}

const shown = (name: string, text: string): string =>
  SECRET.test(name) ? 'withheld' : [...text].slice(0, LONGEST).join('')
