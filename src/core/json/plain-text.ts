import { isRecord, type Plain } from './value.js'

/**
 * Guard, normalization and JCS of a value we built, in one pass: what is digested, ten times per call,
 * and what is signed. The verifier writes with the `canonicalize` package instead (canonical.ts);
 * property tests hold the two equal.
 */
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/
const LONE_SURROGATE = /\p{Surrogate}/u

export function plainText(value: Plain, mode: 'as_is' | 'normalized'): string {
  return write(value, '$', mode === 'normalized') ?? empty(value)
}

/**
 * Whether a text from `plainText(…, 'as_is')` is the normalized one too. Only null, [] and {} ever go
 * (seed §2), so where none of them is written nothing goes; one inside a string is merely looked at twice.
 */
export const isNormalText = (text: string): boolean =>
  !(text.includes('null') || text.includes('[]') || text.includes('{}'))

/** Undefined: normalizes to nothing, so that a member holding it is dropped (seed §2). */
function write(value: Plain | undefined, path: string, normal: boolean): string | undefined {
  switch (typeof value) {
    case 'string':
      return quote(value, path)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      return integer(value, path)
    case 'object':
      if (value === null) return normal ? undefined : 'null'
      return isList(value) ? list(value, path, normal) : members(value, path, normal)
    default:
      throw new TypeError(`${path}: ${typeof value} has no JSON form`)
  }
}

const isList = (value: object): value is readonly Plain[] => Array.isArray(value)
const empty = (value: Plain): string =>
  value === null ? 'null' : Array.isArray(value) ? '[]' : '{}'

function quote(text: string, path: string): string {
  if (!SPECIAL.test(text)) return `"${text}"`
  if (LONE_SURROGATE.test(text)) throw new TypeError(`${path}: lone surrogate`)
  return JSON.stringify(text)
}

function integer(value: number, path: string): string {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    throw new TypeError(`${path}: ${value} has no reproducible digest; use a decimal string`)
  }
  return String(value)
}

/** Elements are never dropped: one that normalizes away stands there empty. */
function list(value: readonly Plain[], path: string, normal: boolean): string | undefined {
  if (value.length === 0) return normal ? undefined : '[]'
  let out = '['
  for (let i = 0; i < value.length; i++) {
    const element = value[i] as Plain
    if (i > 0) out += ','
    out += write(element, path, normal) ?? empty(element)
  }
  return `${out}]`
}

function members(
  value: { readonly [name: string]: Plain | undefined },
  path: string,
  normal: boolean,
): string | undefined {
  if (!isPlain(value)) throw new TypeError(`${path}: not a JSON value`)
  const names = Object.keys(value)
  // Most of what the gate builds has its names in order already, and looking costs less than sorting.
  if (!inOrder(names)) names.sort()
  let out = ''
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const member = value[name]
    if (member === undefined) continue
    const text = write(member, name, normal)
    if (text !== undefined) out += (out === '' ? '{' : ',') + label(name, path) + text
  }
  if (out !== '') return `${out}}`
  return normal ? undefined : '{}'
}

function inOrder(names: readonly string[]): boolean {
  for (let i = 1; i < names.length; i++) {
    if ((names[i] as string) < (names[i - 1] as string)) return false
  }
  return true
}

/** A literal of ours, without the five questions that anything else is asked. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  // A toJSON that it has as a member is a function, and refused as one.
  return prototype === Object.prototype || prototype === null || isRecord(value)
}

/** Names come from the capsule and from manifests: few, and the same on every call. */
const MAX_LABELS = 1024
const MAX_LABEL = 64
const labels = new Map<string, string>()

function label(name: string, path: string): string {
  const known = labels.get(name)
  if (known !== undefined) return known
  const written = `${quote(name, path)}:`
  if (labels.size < MAX_LABELS && name.length <= MAX_LABEL) labels.set(name, written)
  return written
}
