import { fromUtf8 } from '../text.js'
import { JsonNumber, type JsonValue } from './value.js'

/**
 * RFC 8259, strictly: one value, no duplicate names, no lone surrogates, no byte order mark, bounded
 * depth and size. Never throws; a refusal names the offset. Work is linear in the input.
 */
export type ParseLimits = { readonly maxDepth: number; readonly maxBytes: number }
export type ParseFailure = {
  readonly ok: false
  readonly code:
    | 'not_utf8'
    | 'too_large'
    | 'too_deep'
    | 'duplicate_name'
    | 'lone_surrogate'
    | 'trailing_text'
    | 'syntax'
  readonly at: number
}
export type Parsed = { readonly ok: true; readonly value: JsonValue } | ParseFailure

const LIMITS: ParseLimits = { maxDepth: 128, maxBytes: 16 * 1024 * 1024 }
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

class Refusal extends Error {
  readonly code: ParseFailure['code']
  readonly at: number
  constructor(code: ParseFailure['code'], at: number) {
    super(code)
    this.code = code
    this.at = at
  }
}

export function parse(input: string | Uint8Array, limits: Partial<ParseLimits> = {}): Parsed {
  const { maxDepth, maxBytes } = { ...LIMITS, ...limits }
  if (input.length > maxBytes) return { ok: false, code: 'too_large', at: maxBytes }
  const text = typeof input === 'string' ? input : fromUtf8(input)
  if (text === null) return { ok: false, code: 'not_utf8', at: 0 }
  try {
    const reader = new Reader(text, maxDepth)
    const value = reader.value(0)
    reader.space()
    if (reader.at < text.length) return { ok: false, code: 'trailing_text', at: reader.at }
    return { ok: true, value }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, code: error.code, at: error.at }
    throw error
  }
}

class Reader {
  at = 0
  readonly #text: string
  readonly #maxDepth: number

  constructor(text: string, maxDepth: number) {
    this.#text = text
    this.#maxDepth = maxDepth
  }

  space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.at++
    }
  }

  value(depth: number): JsonValue {
    this.space()
    switch (this.#text.charCodeAt(this.at)) {
      case 0x7b: // {
        return this.#object(depth + 1)
      case 0x5b: // [
        return this.#array(depth + 1)
      case 0x22: // "
        return this.#string()
      case 0x74: // t
        return this.#word('true', true)
      case 0x66: // f
        return this.#word('false', false)
      case 0x6e: // n
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #object(depth: number): JsonValue {
    if (depth > this.#maxDepth) throw new Refusal('too_deep', this.at)
    this.at++
    const out = new Map<string, JsonValue>()
    this.space()
    if (this.#take(0x7d)) return out
    for (;;) {
      this.space()
      const start = this.at
      if (this.#text.charCodeAt(start) !== 0x22) throw new Refusal('syntax', start)
      const name = this.#string()
      this.space()
      if (!this.#take(0x3a)) throw new Refusal('syntax', this.at)
      const before = out.size
      // One look-up for both: a name that was there already does not make the map larger.
      if (out.set(name, this.value(depth)).size === before)
        throw new Refusal('duplicate_name', start)
      this.space()
      if (this.#take(0x2c)) continue
      if (this.#take(0x7d)) return out
      throw new Refusal('syntax', this.at)
    }
  }

  #array(depth: number): JsonValue {
    if (depth > this.#maxDepth) throw new Refusal('too_deep', this.at)
    this.at++
    const out: JsonValue[] = []
    this.space()
    if (this.#take(0x5d)) return out
    for (;;) {
      out.push(this.value(depth))
      this.space()
      if (this.#take(0x2c)) continue
      if (this.#take(0x5d)) return out
      throw new Refusal('syntax', this.at)
    }
  }

  #string(): string {
    const text = this.#text
    let out = ''
    this.at++
    for (;;) {
      const from = this.at
      let end = from
      let code = text.charCodeAt(end)
      // NaN at the end of the text compares false. Surrogates take the slow, checked road.
      while (code >= 0x20 && code !== 0x22 && code !== 0x5c && (code < 0xd800 || code > 0xdfff))
        code = text.charCodeAt(++end)
      this.at = end
      const run = text.slice(from, end)
      if (code === 0x22) {
        this.at++
        return out === '' ? run : out + run
      }
      out += run
      if (code === 0x5c) out += this.#escape()
      else if (code >= 0xd800 && code <= 0xdfff) out += this.#pair()
      else throw new Refusal('syntax', this.at)
    }
  }

  #pair(): string {
    const high = this.#text.charCodeAt(this.at)
    const low = this.#text.charCodeAt(this.at + 1)
    if (!(high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff)) {
      throw new Refusal('lone_surrogate', this.at)
    }
    this.at += 2
    return String.fromCharCode(high, low)
  }

  #escape(): string {
    const start = this.at
    const kind = this.#text.charAt(start + 1)
    const plain = ESCAPES[kind]
    if (plain !== undefined && kind.length === 1) {
      this.at += 2
      return plain
    }
    if (kind !== 'u') throw new Refusal('syntax', start)
    const unit = this.#unit()
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit)
    if (unit >= 0xdc00 || !this.#text.startsWith('\\u', this.at)) {
      throw new Refusal('lone_surrogate', start)
    }
    const low = this.#unit()
    if (low < 0xdc00 || low > 0xdfff) throw new Refusal('lone_surrogate', start)
    return String.fromCharCode(unit, low)
  }

  #unit(): number {
    const digits = this.#text.slice(this.at + 2, this.at + 6)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Refusal('syntax', this.at)
    this.at += 6
    return Number.parseInt(digits, 16)
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.at)) throw new Refusal('syntax', this.at)
    this.at += word.length
    return value
  }

  #number(): JsonNumber {
    NUMBER.lastIndex = this.at
    const match = NUMBER.exec(this.#text)
    if (match === null) throw new Refusal('syntax', this.at)
    this.at += match[0].length
    return new JsonNumber(match[0])
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.at) !== code) return false
    this.at++
    return true
  }
}
