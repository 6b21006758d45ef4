import { utf8 } from '../bytes/text.js'
import { parse } from '../json/parse.js'
import { plainText } from '../json/plain-text.js'
import { isArray, isObject, JsonNumber, type JsonValue, type Plain } from '../json/value.js'
import { escapePointer } from '../manifest/route/pointer.js'
import type { Described } from './describe.js'

/**
 * JSON pointer of the first thing that differs from what was approved: an argument, then any member of
 * the body (also one the manifest does not read), then the request around it. The approved document is
 * taken as the evidence store gave it out: null and empty members may be missing from it (seed §2).
 */
export function firstDifference(approved: Plain, sent: Described): string {
  const [a, b] = [tree(approved), tree(sent)]
  return (
    differs(member(a, 'arguments'), member(b, 'arguments'), '/arguments') ??
    bodies(member(member(a, 'request'), 'body'), sent.request.body) ??
    differs(member(a, 'request'), member(b, 'request'), '/request') ??
    differs(member(a, 'tool'), member(b, 'tool'), '/tool') ??
    ''
  )
}

function bodies(approved: JsonValue | undefined, sent: string | null): string | null {
  if (typeof approved !== 'string' || sent === null) return null
  const [a, b] = [parse(utf8(approved)), parse(utf8(sent))]
  return a.ok && b.ok ? differs(a.value, b.value, '/body') : null
}

const member = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) ? value.get(name) : undefined

function tree(value: Plain): JsonValue {
  const parsed = parse(utf8(plainText(value, 'normalized')))
  if (!parsed.ok) throw new TypeError('a document of ours is JSON')
  return parsed.value
}

function differs(a: JsonValue | undefined, b: JsonValue | undefined, at: string): string | null {
  if (a === undefined || b === undefined) return a === b ? null : at
  if (isObject(a) && isObject(b)) {
    for (const name of new Set([...a.keys(), ...b.keys()])) {
      const found = differs(a.get(name), b.get(name), `${at}/${escapePointer(name)}`)
      if (found !== null) return found
    }
    return null
  }
  if (isArray(a) && isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const found = differs(a[i], b[i], `${at}/${i}`)
      if (found !== null) return found
    }
    return null
  }
  if (a instanceof JsonNumber && b instanceof JsonNumber) return a.token === b.token ? null : at
  return a === b ? null : at
}
