import type { Call, Header, HttpCall } from '../call.js'
import { shortestDecimal } from '../json/decimal.js'
import { type ParseFailure, parseSourced } from '../json/parse.js'
import { isArray, JsonNumber, type JsonValue } from '../json/value.js'
import type { Match, RouteArg } from './match.js'
import type { ArgType } from './model.js'
import { resolvePointer, sameFolded } from './pointer.js'

/** An argument as it was sent, exactly: no value passes through a JavaScript number. */
export type ArgValue =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'integer'; readonly value: bigint }
  /** Shortest plain form: "10.00" and "10" are the same amount, also to a dedupe key. */
  | { readonly type: 'decimal'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'strings'; readonly value: readonly string[] }
export type Args = ReadonlyMap<string, ArgValue>

export type ReadRefusal = {
  readonly ok: false
  readonly code:
    | 'body_too_large'
    | 'body_aborted'
    | 'body_unreadable'
    | 'arg_missing'
    | 'arg_type'
    | 'arg_ambiguous'
  readonly detail: string
  /** The argument's name, when one is to blame. */
  readonly arg?: string
}
export type ArgsRead =
  | { readonly ok: true; readonly args: Args; readonly body: string | null }
  | ReadRefusal

type Matched = Extract<Match, { ok: true }>
type Raw =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'ambiguous'; readonly detail: string }

const refuse = (code: ReadRefusal['code'], detail: string, arg?: string): ReadRefusal =>
  arg === undefined ? { ok: false, code, detail } : { ok: false, code, detail, arg }

/** `body` in the answer is the exact JSON text, given when the rule reads the body. */
export function readArgs(matched: Matched, call: Call): ArgsRead {
  const body = readBody(matched, call)
  if (!body.ok) return body
  const clash = queryClash(matched)
  if (clash !== null) return refuse('arg_ambiguous', clash)
  const args = new Map<string, ArgValue>()
  for (const prepared of matched.route.args) {
    const { name, arg } = prepared
    const raw = find(prepared, matched, call, body.value)
    if (raw.kind === 'ambiguous') return refuse('arg_ambiguous', raw.detail, name)
    if (raw.kind === 'absent') {
      if (arg.optional) continue
      return refuse('arg_missing', `${name} is required`, name)
    }
    const value = typedValue(arg.type, raw)
    if (value === null) return refuse('arg_type', `${name} is not ${NOUN[arg.type]}`, name)
    args.set(name, value)
  }
  return { ok: true, args, body: body.text }
}

const NOUN: Readonly<Record<ArgType, string>> = {
  string: 'a string',
  integer: 'a whole number',
  decimal: 'an exact decimal in plain notation',
  boolean: 'true or false',
  strings: 'a list of strings',
}

type BodyRead =
  | { readonly ok: true; readonly value: JsonValue | undefined; readonly text: string | null }
  | ReadRefusal

function readBody(matched: Matched, call: Call): BodyRead {
  if (call.kind === 'function') return parseBody(call.argumentsJson)
  if (call.body.kind !== 'read') {
    return call.body.kind === 'too_large'
      ? refuse('body_too_large', 'the body is over the limit')
      : refuse('body_aborted', 'the body did not arrive whole')
  }
  if (!matched.route.readsBody) return { ok: true, value: undefined, text: null }
  const fault = mediaFault(call.headers)
  return fault === null ? parseBody(call.body.bytes) : refuse('body_unreadable', fault)
}

const WHY: Readonly<Record<ParseFailure['code'], string>> = {
  not_utf8: 'the body is not UTF-8',
  too_large: 'the body is too large to be judged',
  too_deep: 'the body is nested too deeply',
  duplicate_name: 'the body names a member twice',
  lone_surrogate: 'the body holds half a character',
  trailing_text: 'the body goes on after its JSON value',
  syntax: 'the body is not JSON',
}

function parseBody(bytes: Uint8Array): BodyRead {
  const parsed = parseSourced(bytes)
  if (!parsed.ok) return refuse('body_unreadable', `${WHY[parsed.code]} (offset ${parsed.at})`)
  return { ok: true, value: parsed.value, text: parsed.text }
}

const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json)$/

/** UTF-8 JSON, no content-coding: anything else would be judged as one thing and read as another. */
export function mediaFault(headers: readonly Header[]): string | null {
  let only: string | undefined
  let types = 0
  for (const [name, value] of headers) {
    if (name === 'content-encoding') return 'the body has a content-coding'
    if (name !== 'content-type') continue
    only = value
    types++
  }
  if (only === undefined) return 'the request has no content-type'
  if (types > 1) return 'the request has two content-types'
  if (only === 'application/json') return null
  const [type, ...parameters] = only.split(';').map((part) => part.trim().toLowerCase())
  if (type === undefined || !JSON_TYPE.test(type)) return 'the content-type is not JSON'
  const charsets = parameters.filter((parameter) => /^charset\s*=/.test(parameter))
  if (charsets.length > 1) return 'the content-type names two charsets'
  if (charsets.some((charset) => !/^charset=(?:utf-8|"utf-8")$/.test(charset))) {
    return 'the charset is not utf-8'
  }
  return null
}

/** Frameworks that merge query and body would let `?amount=9` override the judged one. */
function queryClash({ route, target }: Matched): string | null {
  for (const [name] of target?.query ?? []) {
    const bare = name.split('[', 1)[0] ?? ''
    for (const elsewhere of route.notInQuery) {
      if (sameFolded(bare, elsewhere)) return `the query also holds ${JSON.stringify(name)}`
    }
  }
  return null
}

function find(
  { arg, tokens }: RouteArg,
  matched: Matched,
  call: Call,
  body: JsonValue | undefined,
): Raw {
  const { from } = arg
  switch (from.in) {
    case 'body': {
      if (body === undefined) return { kind: 'absent' }
      const found = resolvePointer(body, tokens)
      if (found.kind === 'ambiguous') {
        return { kind: 'ambiguous', detail: `${JSON.stringify(found.name)} differs in case only` }
      }
      if (found.kind === 'absent' || found.value === null) return { kind: 'absent' }
      return { kind: 'json', value: found.value }
    }
    case 'query':
      return findQuery(from.name, matched)
    case 'path': {
      const value = matched.params.get(from.name)
      return value === undefined ? { kind: 'absent' } : { kind: 'text', value }
    }
    case 'header':
      return call.kind === 'http' ? findHeader(from.name, call) : { kind: 'absent' }
  }
}

/** `amount`, `Amount`, `amount[]`: each is the same key to some server, so there may be one of them. */
function findQuery(wanted: string, { target }: Matched): Raw {
  if (target === null) return { kind: 'absent' }
  if (target.semicolon) return { kind: 'ambiguous', detail: 'the query holds a raw ";"' }
  const found = target.query.filter(([name]) => sameFolded(name.split('[', 1)[0] ?? '', wanted))
  const [only] = found
  if (only === undefined) return { kind: 'absent' }
  if (found.length > 1) return { kind: 'ambiguous', detail: `the query holds ${wanted} twice` }
  if (only[0] !== wanted) {
    return { kind: 'ambiguous', detail: `the query spells it ${JSON.stringify(only[0])}` }
  }
  return { kind: 'text', value: only[1] }
}

function findHeader(wanted: string, call: HttpCall): Raw {
  const found = call.headers.filter(([name]) => name === wanted)
  const [only] = found
  if (only === undefined) return { kind: 'absent' }
  if (found.length > 1) return { kind: 'ambiguous', detail: `the header ${wanted} occurs twice` }
  return { kind: 'text', value: only[1] }
}

const INTEGER = /^-?(?:0|[1-9][0-9]{0,62})$/

/** Null: not of that type. A number's token is read as it stands; exponents are not plain notation. */
export function typedValue(type: ArgType, raw: Extract<Raw, { value: unknown }>): ArgValue | null {
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
  }
}
