import { isArray, isObject, JsonNumber, type JsonValue, type Plain } from '../json/value.js'
import type { ToolRule } from '../manifest/model.js'
import { pointerTokens, resolvePointer } from '../manifest/route/pointer.js'

/** The manifest's word on whether an observed response is a success (DESIGN §6). */
export type SuccessRule = ToolRule['success']

/** What the body is to the rule: a JSON value, nothing at all, or octets that cannot be read. */
export type SeenBody =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'empty' }
  | { readonly kind: 'opaque' }

export const succeeded = (rule: SuccessRule, status: number, body: SeenBody): boolean =>
  isSuccessStatus(rule, status) && !unlessHolds(rule, body)

/** Whether the body says that the call failed although its status does not. */
export function unlessHolds({ unless }: SuccessRule, body: SeenBody): boolean {
  if (unless.length === 0 || body.kind === 'empty') return false
  // An in-body failure that cannot be looked for was not excluded: fail closed.
  if (body.kind === 'opaque') return true
  return unless.some((failure) => holds(failure, body.value))
}

function holds({ pointer, op, value }: SuccessRule['unless'][number], body: JsonValue): boolean {
  const found = resolvePointer(body, pointerTokens(pointer))
  switch (found.kind) {
    case 'absent':
      return false
    case 'ambiguous':
      // Which spelling is the tool's error member is not certain: not proven a success.
      return true
    case 'found':
      return op === 'exists' ? !isAbsent(found.value) : equals(found.value, value ?? null)
  }
}

type Range = { readonly from: number; readonly to: number }
/** Read once per rule: rules outlive calls. */
const ranges = new WeakMap<SuccessRule, readonly Range[]>()

function isSuccessStatus(rule: SuccessRule, status: number): boolean {
  let known = ranges.get(rule)
  if (known === undefined) {
    known = rule.status.flatMap(rangeOf)
    ranges.set(rule, known)
  }
  for (const { from, to } of known) if (status >= from && status <= to) return true
  return false
}

/** `200` or `200-299`; anything else holds no status. */
function rangeOf(text: string): readonly Range[] {
  const match = /^([0-9]{3})(?:-([0-9]{3}))?$/.exec(text)
  if (match === null) return []
  const from = Number(match[1])
  return [{ from, to: Number(match[2] ?? from) }]
}

/** Seed §2: what normalizes away shares its digest with absence, so it must share its verdict too. */
function isAbsent(value: JsonValue): boolean {
  if (value === null) return true
  if (isArray(value)) return value.length === 0
  return isObject(value) && [...value.values()].every(isAbsent)
}

function equals(value: JsonValue, expected: Plain): boolean {
  if (value instanceof JsonNumber) return Number(value.token) === expected
  if (isArray(value)) {
    if (!Array.isArray(expected) || expected.length !== value.length) return false
    return value.every((element, index) => equals(element, expected[index]))
  }
  if (isObject(value)) {
    if (expected === null || typeof expected !== 'object' || Array.isArray(expected)) return false
    const members = Object.entries(expected).filter(([, member]) => member !== undefined)
    if (members.length !== value.size) return false
    return members.every(([name, member]) => {
      const found = value.get(name)
      return found !== undefined && equals(found, member as Plain)
    })
  }
  return value === expected
}

/** A join key, not prose: what has spaces is a sentence, and capsules are public (seed §5.2). */
const REFERENCE = /^[^\s\p{C}]{1,256}$/u

/** effect.external_ref: a string or a number's own token; anything else is no reference. */
export function referenceAt(body: SeenBody, pointer: string): string | null {
  if (body.kind !== 'json') return null
  const found = resolvePointer(body.value, pointerTokens(pointer))
  if (found.kind !== 'found') return null
  const text = found.value instanceof JsonNumber ? found.value.token : found.value
  return typeof text === 'string' && REFERENCE.test(text) ? text : null
}
