import { Refusal, type Refused } from '../bytes/refusal.js'
import { fromUtf8, utf8 } from '../bytes/text.js'
import { isSafeIntegerToken, JsonNumber, type JsonValue, vanishes } from './value.js'

/**
 * RFC 8259, strictly: one value, no duplicate names, no lone surrogates, no byte order mark, bounded
 * depth and size. Never throws; a refusal names the offset. Work is linear in the input.
 */
export type ParseLimits = {
  readonly maxDepth: number
  readonly maxBytes: number
  /** Halves of surrogate pairs are read as they are, which only a reader of another maker's texts wants. */
  readonly loneSurrogates: boolean
}
export type ParseFailure = Refused<
  | 'not_utf8'
  | 'too_large'
  | 'too_deep'
  | 'duplicate_name'
  | 'lone_surrogate'
  | 'trailing_text'
  | 'syntax'
>
export type Parsed = { readonly ok: true; readonly value: JsonValue } | ParseFailure

/** The text of a root object that is its own JCS(normalize(value)), and where each member begins. */
export type CanonicalText = { readonly text: string; readonly members: readonly number[] }
export type Sourced =
  | {
      readonly ok: true
      readonly value: JsonValue
      readonly source: CanonicalText | null
      /** As it was read. */
      readonly text: string
    }
  | ParseFailure

const LIMITS: ParseLimits = {
  maxDepth: 128,
  maxBytes: 16 * 1024 * 1024,
  loneSurrogates: false,
}
const LONE_SURROGATE = /\p{Surrogate}/u
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

export function parse(input: string | Uint8Array, limits: Partial<ParseLimits> = {}): Parsed {
  const read = parseSourced(input, limits)
  return read.ok ? { ok: true, value: read.value } : read
}

/** The same, and whether the text was canonical already, so that it need not be written again. */
export function parseSourced(
  input: string | Uint8Array,
  limits: Partial<ParseLimits> = {},
): Sourced {
  const { maxDepth, maxBytes, loneSurrogates } = { ...LIMITS, ...limits }
  if (input.length > maxBytes) return { ok: false, code: 'too_large', at: maxBytes }
  const text = typeof input === 'string' ? input : fromUtf8(input)
  if (text === null) return { ok: false, code: 'not_utf8', at: 0 }
  const bytes = typeof input === 'string' ? utf8(input) : input
  try {
    const reader = new Reader(text, bytes, maxDepth, loneSurrogates)
    const value = reader.value(0)
    reader.space()
    if (reader.at < bytes.length) reader.refuse('trailing_text')
    return { ok: true, value, source: reader.source(value), text }
  } catch (error) {
    if (error instanceof Refusal) return error.refused
    throw error
  }
}

/**
 * Scans bytes, which costs a third of asking a string for its characters, and cuts strings out of the
 * text. Whatever has a meaning in JSON is one byte of ASCII in either.
 */
class Reader {
  at = 0
  /** How far the offset in bytes runs ahead of the offset in the text. */
  #ahead = 0
  #canonical = true
  readonly #members: number[] = []
  readonly #text: string
  readonly #bytes: Uint8Array
  readonly #length: number
  readonly #maxDepth: number
  readonly #loneSurrogates: boolean

  constructor(text: string, bytes: Uint8Array, maxDepth: number, loneSurrogates: boolean) {
    this.#text = text
    this.#bytes = bytes
    this.#length = bytes.length
    this.#maxDepth = maxDepth
    this.#loneSurrogates = loneSurrogates
  }

  refuse(code: ParseFailure['code'], at = this.at): never {
    throw new Refusal(code, at - this.#ahead)
  }

  source(value: JsonValue): CanonicalText | null {
    return this.#canonical && value instanceof Map
      ? { text: this.#text, members: this.#members }
      : null
  }

  /** The current byte; NUL, which no token begins with, at the end. */
  #peek(): number {
    return this.at < this.#length ? (this.#bytes[this.at] as number) : 0
  }

  /** Skips white space and gives the byte after it. */
  space(): number {
    let code = this.#peek()
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#canonical = false
      this.at++
      code = this.#peek()
    }
    return code
  }

  value(depth: number): JsonValue {
    switch (this.space()) {
      case 0x22: // "
        return this.#string()
      case 0x7b: // {
        return this.#object(depth + 1)
      case 0x5b: // [
        return this.#array(depth + 1)
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
    if (depth > this.#maxDepth) this.refuse('too_deep')
    this.at++
    const out = new Map<string, JsonValue>()
    if (this.space() === 0x7d) {
      this.at++
      return out
    }
    let previous = ''
    for (;;) {
      if (this.space() !== 0x22) this.refuse('syntax')
      const start = this.at
      if (depth === 1) this.#members.push(start - this.#ahead)
      const ahead = this.#ahead
      const name = this.#string()
      if (name < previous) this.#canonical = false
      previous = name
      if (this.space() !== 0x3a) this.refuse('syntax')
      this.at++
      const value = this.value(depth)
      if (vanishes(value)) this.#canonical = false
      const before = out.size
      // One look-up for both: a name that was there already does not make the map larger.
      if (out.set(name, value).size === before) throw new Refusal('duplicate_name', start - ahead)
      const next = this.space()
      if (next !== 0x2c && next !== 0x7d) this.refuse('syntax')
      this.at++
      if (next === 0x7d) return out
    }
  }

  #array(depth: number): JsonValue {
    if (depth > this.#maxDepth) this.refuse('too_deep')
    this.at++
    const out: JsonValue[] = []
    if (this.space() === 0x5d) {
      this.at++
      return out
    }
    for (;;) {
      out.push(this.value(depth))
      const next = this.space()
      if (next !== 0x2c && next !== 0x5d) this.refuse('syntax')
      this.at++
      if (next === 0x5d) return out
    }
  }

  #string(): string {
    const bytes = this.#bytes
    const length = this.#length
    let out = ''
    this.at++
    for (;;) {
      const from = this.at
      let end = from
      let code = 0
      let seen = 0
      for (; end < length; end++) {
        code = bytes[end] as number
        if (code === 0x22 || code === 0x5c || code < 0x20) break
        seen |= code
      }
      this.at = end
      const run =
        seen < 0x80
          ? this.#text.substring(from - this.#ahead, end - this.#ahead)
          : this.#wide(from, end)
      if (end < length && code === 0x22) {
        this.at++
        return out === '' ? run : out + run
      }
      if (end === length || code !== 0x5c) this.refuse('syntax')
      this.#canonical = false
      out += run + this.#escape()
    }
  }

  /** A run with characters of several bytes. */
  #wide(from: number, end: number): string {
    const start = from - this.#ahead
    for (let i = from; i < end; i++) {
      const byte = this.#bytes[i] as number
      if (byte >= 0xf0) this.#ahead--
      else if (byte >= 0x80 && byte < 0xc0) this.#ahead++
    }
    const run = this.#text.substring(start, end - this.#ahead)
    const lone = this.#loneSurrogates ? -1 : run.search(LONE_SURROGATE)
    if (lone >= 0) throw new Refusal('lone_surrogate', start + lone)
    return run
  }

  #escape(): string {
    const start = this.at
    const kind = this.#text.charAt(start - this.#ahead + 1)
    const plain = ESCAPES[kind]
    if (plain !== undefined && kind.length === 1) {
      this.at += 2
      return plain
    }
    if (kind !== 'u') this.refuse('syntax')
    const unit = this.#unit()
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit)
    // One at a time: a half that follows completes the pair.
    if (this.#loneSurrogates) return String.fromCharCode(unit)
    if (unit >= 0xdc00 || !this.#text.startsWith('\\u', this.at - this.#ahead)) {
      this.refuse('lone_surrogate', start)
    }
    const low = this.#unit()
    if (low < 0xdc00 || low > 0xdfff) this.refuse('lone_surrogate', start)
    return String.fromCharCode(unit, low)
  }

  #unit(): number {
    const at = this.at - this.#ahead
    const digits = this.#text.slice(at + 2, at + 6)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.refuse('syntax')
    this.at += 6
    return Number.parseInt(digits, 16)
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.at - this.#ahead)) this.refuse('syntax')
    this.at += word.length
    return value
  }

  #number(): JsonNumber {
    const start = this.at
    if (this.#peek() === 0x2d) this.at++
    if (this.#peek() === 0x30) this.at++
    else if (!this.#digits()) this.refuse('syntax', start)
    // What looks like a fraction or an exponent and is none ends the token before it.
    let end = this.at
    if (this.#peek() === 0x2e) {
      this.at++
      if (this.#digits()) end = this.at
      this.at = end
    }
    const letter = this.#peek()
    if (letter === 0x65 || letter === 0x45) {
      this.at++
      const sign = this.#peek()
      if (sign === 0x2b || sign === 0x2d) this.at++
      if (this.#digits()) end = this.at
      this.at = end
    }
    const token = this.#text.substring(start - this.#ahead, end - this.#ahead)
    if (token === '-0' || !isSafeIntegerToken(token)) this.#canonical = false
    return new JsonNumber(token)
  }

  #digits(): boolean {
    const start = this.at
    while (this.at < this.#length && isDigit(this.#bytes[this.at] as number)) this.at++
    return this.at > start
  }
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
