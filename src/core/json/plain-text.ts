import { isRecord, type Plain } from './value.js'

/**
 * Guard, normalization and JCS of a value we built, in one pass. `canonicalize` writes the payload that
 * is signed; this writes what is only digested, ten times per call. Property tests hold the two equal,
 * and both to the writer over parsed trees (canonical.ts), which checks what either wrote.
 */
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/
const LONE_SURROGATE = /\p{Surrogate}/u

export function plainText(value: Plain, mode: 'as_is' | 'normalized'): string {
  return write(value, '$', mode === 'normalized') ?? empty(value)
}

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
  if (!isRecord(value)) throw new TypeError(`${path}: not a JSON value`)
  let out = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member === undefined) continue
    const text = write(member, name, normal)
    if (text !== undefined) out += `${out === '' ? '{' : ','}${quote(name, path)}:${text}`
  }
  if (out !== '') return `${out}}`
  return normal ? undefined : '{}'
}
