import { shortestDecimal } from '../../json/decimal.js'
import {
  isArray,
  isObject,
  type JsonArray,
  JsonNumber,
  type JsonObject,
  type JsonValue,
} from '../../json/value.js'
import type { ArgType } from '../model.js'

/** An argument as it was sent, exactly: no value passes through a JavaScript number. */
export type ArgValue =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'integer'; readonly value: bigint }
  /** Shortest plain form: "10.00" and "10" are the same amount, also to a dedupe key. */
  | { readonly type: 'decimal'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'object'; readonly value: JsonObject }
  | { readonly type: 'objects'; readonly value: JsonArray }

export type Raw =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'text'; readonly value: string }

const INTEGER = /^-?(?:0|[1-9][0-9]{0,62})$/

/** Null: not of that type. A number's token is read as it stands; exponents are not plain notation. */
export function typedValue(type: ArgType, raw: Raw): ArgValue | null {
  const { value } = raw
  const text = raw.kind === 'text'
  switch (type) {
    case 'string':
      return typeof value === 'string' ? { type, value } : null
    case 'integer': {
      const token = value instanceof JsonNumber ? value.token : text ? raw.value : null
      return token !== null && INTEGER.test(token) ? { type, value: BigInt(token) } : null
    }
    case 'decimal': {
      const token = value instanceof JsonNumber ? value.token : value
      const decimal = typeof token === 'string' ? shortestDecimal(token) : null
      return decimal === null ? null : { type, value: decimal }
    }
    case 'boolean':
      if (typeof value === 'boolean') return { type, value }
      return text && /^(?:true|false)$/.test(raw.value)
        ? { type, value: raw.value === 'true' }
        : null
    case 'strings': {
      if (text || !isArray(value)) return null
      const strings = value.filter((element) => typeof element === 'string')
      return strings.length === value.length ? { type, value: strings } : null
    }
    case 'object':
      return !text && isObject(value) ? { type, value } : null
    case 'objects':
      return !text && isArray(value) && value.every(isObject) ? { type, value } : null
  }
}
