import { canonicalOf } from '../json/build.js'
import { parse } from '../json/parse.js'
import { isArray, isObject, JsonNumber, type JsonValue, type Plain } from '../json/value.js'
import { escapePointer } from '../manifest/pointer.js'
import { utf8 } from '../text.js'
import type { ApprovalDocument } from './document.js'

type Comparable = Pick<ApprovalDocument, 'tool' | 'arguments' | 'request'>

/**
 * JSON pointer of the first thing that differs from what was approved: an argument, then any member of
 * the body (also one the manifest does not read), then the request around it.
 */
export function firstDifference(approved: Comparable, sent: Comparable): string {
  return (
    differs(tree(approved.arguments), tree(sent.arguments), '/arguments') ??
    bodies(approved.request.body, sent.request.body) ??
    differs(tree(approved.request), tree(sent.request), '/request') ??
    differs(tree(approved.tool), tree(sent.tool), '/tool') ??
    ''
  )
}

function bodies(approved: string | null, sent: string | null): string | null {
  if (approved === null || sent === null) return null
  const [a, b] = [parse(utf8(approved)), parse(utf8(sent))]
  return a.ok && b.ok ? differs(a.value, b.value, '/body') : null
}

function tree(value: Plain): JsonValue {
  const parsed = parse(utf8(canonicalOf(value)))
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
