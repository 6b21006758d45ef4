import { utf8 } from '../bytes/text.js'
import type { Malformed } from '../call/malformed.js'
import { parseSourced } from '../json/parse.js'
import { type Member, membersOf } from '../json/spans.js'
import { isObject, type JsonObject } from '../json/value.js'

/** A call that an agent has the gate make of one message, with its declaration and its mandate beside it. */
export type Transition = {
  readonly ok: true
  /** The declaration's text as it stood. */
  readonly intent?: string
  readonly mandate?: string
  readonly method: string
  readonly target: string
  /** Of the body; null where there is neither. */
  readonly contentType: string | null
  /** The exact octets of `body`; null where there is none. */
  readonly body: Uint8Array | null
}
export type TransitionRead = Transition | { readonly ok: false; readonly fault: Malformed }

const misshapen: TransitionRead = { ok: false, fault: 'transition_misshapen' }

const MEMBERS: ReadonlySet<string> = new Set(['intent', 'mandate', 'request'])
const REQUEST: ReadonlySet<string> = new Set(['method', 'target', 'content_type', 'body'])
/** The answer to HEAD says the length of a body that does not follow; the other two are not served at all. */
const NOT_HERE: ReadonlySet<string> = new Set(['CONNECT', 'HEAD', 'TRACE'])
const METHOD = /^[A-Z][A-Z-]{0,31}$/
/** What a request line can hold; what of it a target may be is judged as of any other request. */
const TARGET = /^[\x21-\x7e]{1,16384}$/
/** What the value of a header can hold. */
const CONTENT_TYPE = /^[\x21-\x7e](?:[\t\x20-\x7e]{0,254}[\x21-\x7e])?$/

/**
 * `{"intent": {…}, "mandate"?: "…", "request": {"method", "target", "content_type"?, "body"?}}`, closed at both
 * levels. What the declaration says is not read here.
 */
export function readTransition(octets: Uint8Array): TransitionRead {
  const parsed = parseSourced(octets)
  if (!parsed.ok) {
    const twice = parsed.code === 'duplicate_name'
    return { ok: false, fault: twice ? 'message_names_twice' : 'message_not_json' }
  }
  const { value, text } = parsed
  if (!isObject(value) || !hasOnly(value, MEMBERS)) return misshapen
  const [mandate, request] = [value.get('mandate'), value.get('request')]
  if (mandate !== undefined && typeof mandate !== 'string') return misshapen
  if (!isObject(request) || !hasOnly(request, REQUEST)) return misshapen
  const asked = textsOf(request)
  if (asked === null) return misshapen
  if (NOT_HERE.has(asked.method)) return { ok: false, fault: 'transition_method' }
  const members = membersOf(text)
  const intent = valueIn(members, 'intent')
  const body = valueIn(membersOf(valueIn(members, 'request') ?? '{}'), 'body')
  return {
    ok: true,
    ...(intent === null ? {} : { intent }),
    ...(mandate === undefined ? {} : { mandate }),
    method: asked.method,
    target: asked.target,
    contentType: asked.contentType ?? (body === null ? null : 'application/json'),
    body: body === null ? null : utf8(body),
  }
}

function textsOf(request: JsonObject) {
  const [method, target] = [request.get('method'), request.get('target')]
  const contentType = request.get('content_type')
  if (typeof method !== 'string' || !METHOD.test(method)) return null
  if (typeof target !== 'string' || !TARGET.test(target)) return null
  if (contentType === undefined) return { method, target, contentType: null }
  if (typeof contentType !== 'string' || !CONTENT_TYPE.test(contentType)) return null
  return { method, target, contentType }
}

const hasOnly = (value: JsonObject, names: ReadonlySet<string>): boolean =>
  [...value.keys()].every((name) => names.has(name))

const valueIn = (members: readonly Member[], wanted: string): string | null =>
  members.find(({ name }) => name === wanted)?.value ?? null
