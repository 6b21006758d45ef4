import { JsonNumber, type JsonValue } from '../json/value.js'
import { byCodePoint } from './code-points.js'
import { pythonNumber } from './number.js'

/** Thrown for a number that CPython would not write as JSON; caught where the text is asked for. */
export class NoPythonNumber extends Error {}

export type Dumps = {
  readonly quote: (text: string) => string
}

/** `json.dumps(value, sort_keys=True, separators=(",", ":"))` of a parsed value, token by token. */
export function dumps(value: JsonValue, options: Dumps): string {
  const { quote } = options
  if (typeof value === 'string') return quote(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (value instanceof JsonNumber) {
    const text = pythonNumber(value.token)
    if (text === null) throw new NoPythonNumber(value.token)
    return text
  }
  if (value instanceof Map) {
    const names = [...value.keys()].sort(byCodePoint)
    const members = names.map(
      (name) => `${quote(name)}:${dumps(value.get(name) as JsonValue, options)}`,
    )
    return `{${members.join(',')}}`
  }
  return `[${(value as readonly JsonValue[]).map((each) => dumps(each, options)).join(',')}]`
}

/** `ensure_ascii=False`: of well-formed text JSON.stringify escapes the same characters, in the same short forms. */
export const quoteUnicode = (text: string): string => JSON.stringify(text)

const NOT_ASCII = /[\u007f-\uffff]/g

/** `ensure_ascii=True`: what is not U+0020 to U+007E as an escape of four hex digits for each code unit. */
export const quoteAscii = (text: string): string =>
  JSON.stringify(text).replace(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
