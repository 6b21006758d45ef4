import { fromUtf8 } from '../bytes/text.js'
import { trimmed } from '../http/fields.js'
import { readRequestHead } from '../http/request.js'
import { parse } from '../json/parse.js'
import { type Member, membersOf } from '../json/spans.js'
import { isObject } from '../json/value.js'
import type { ToolRule } from '../manifest/model.js'
import { OVERRIDE_HEADERS } from '../manifest/route/headers.js'
import { match, type Router } from '../manifest/route/match.js'
import { readMessage } from '../mcp/message.js'
import { namedBy } from '../mcp/methods.js'
import type { Header, ReadCall, ReadHttpCall, ReadMcpCall } from './call.js'
import { outgoing } from './outgoing.js'

/** The very octets that were handed to the socket or pipe. */
export type Wrote =
  | { readonly kind: 'http'; readonly head: string; readonly body: Uint8Array }
  | { readonly kind: 'mcp'; readonly octets: Uint8Array }

/** A call, the rule it was judged under and the routes by which that was found. */
export type JudgedCall = {
  readonly call: ReadCall
  readonly rule: ToolRule
  readonly router: Router
}

/**
 * The Cedar action of the octets that were written, derived from them alone by the project's own matching (seed
 * intent-declaration-primitive-01 §5.5). Null where they are not the judged request: no rule matches them, or another
 * than the one that the arguments were judged under, or the request itself was changed (promise 5). Never throws.
 */
export function executedAction(wrote: Wrote, { call, rule, router }: JudgedCall): string | null {
  const written = writtenCall(wrote, call, rule)
  if (written === null) return null
  const found = match(router, written)
  return found.ok && found.route.rule.tool === rule.tool ? found.route.rule.action : null
}

/** The call as the octets have it, to be matched; null where they are not those of the judged one. */
function writtenCall(wrote: Wrote, call: ReadCall, rule: ToolRule): ReadCall | null {
  switch (call.kind) {
    case 'http':
      return wrote.kind === 'http' ? writtenRequest(wrote, call, rule) : null
    case 'mcp':
      return wrote.kind === 'mcp' ? writtenMessage(wrote.octets, call) : null
    case 'function':
      return null
  }
}

// ── HTTP ─────────────────────────────────────────────────────────────────────
type WroteHttp = Extract<Wrote, { kind: 'http' }>

function writtenRequest(wrote: WroteHttp, call: ReadHttpCall, rule: ToolRule): ReadHttpCall | null {
  const read = readRequestHead(wrote.head)
  if (read === null) return null
  const { method, target, headers } = read
  if (method !== call.method || target !== call.target) return null
  if (!sameOctets(wrote.body, call.body.bytes)) return null
  if (!framesBody(headers, wrote.body.length)) return null
  if (headers.some(([name]) => OVERRIDE_HEADERS.includes(name))) return null
  const judged = outgoing(call, rule)?.headers ?? []
  if (!LABELS.every((name) => sameTexts(valuesOf(headers, name), valuesOf(judged, name)))) {
    return null
  }
  return { ...call, method, target, headers, body: { kind: 'read', bytes: wrote.body } }
}

/** What says how a body is to be read: under another label the same octets are other arguments. */
const LABELS = ['content-type', 'content-encoding'] as const

const valuesOf = (headers: readonly Header[], wanted: string): readonly string[] => {
  const values: string[] = []
  for (const [name, value] of headers) {
    if (name === wanted) values.push(trimmed(value, 0, value.length))
  }
  return values
}

/** The head announces this body and no other: nothing of it begins another request. */
function framesBody(headers: readonly Header[], length: number): boolean {
  if (valuesOf(headers, 'transfer-encoding').length > 0) return false
  const announced = valuesOf(headers, 'content-length')
  return announced.length === 0
    ? length === 0
    : announced.length === 1 && announced[0] === String(length)
}

// ── MCP ──────────────────────────────────────────────────────────────────────
const LF = 0x0a
const CR = 0x0d

function writtenMessage(octets: Uint8Array, call: ReadMcpCall): ReadMcpCall | null {
  // On a pipe a line break would make two messages of one.
  if (octets.includes(LF) || octets.includes(CR)) return null
  const read = readMessage(octets, octets.length)
  if (!read.ok || read.message.kind !== 'request') return null
  const { method, params } = read.message
  const about = namedBy(method)
  const by = about === 'taskId' ? null : about
  const named = by === null ? null : params.value.get(by)
  if (method !== call.method || named !== call.name) return null
  const rest = params.members.filter(({ name }) => name !== '_meta')
  const judged = fromUtf8(call.body.bytes)
  if (judged === null) return null
  const same =
    by === null
      ? sameMembers(rest, judged === '' ? '{}' : judged)
      : argumentsIn(rest) === judged && sameMembers(beside(rest, by), `{${call.more}}`)
  return same ? { ...call, method, name: named } : null
}

const argumentsIn = (members: readonly Member[]): string =>
  members.find(({ name }) => name === 'arguments')?.value ?? ''

/** What is sent beside name and arguments. `_meta` differs between sendings, and no digest binds it. */
const beside = (members: readonly Member[], by: 'name' | 'uri'): readonly Member[] =>
  members.filter(({ name }) => name !== by && name !== 'arguments')

/** The members stand in the judged object as they were written, in this order. */
function sameMembers(written: readonly Member[], judged: string): boolean {
  const parsed = parse(judged)
  if (!parsed.ok || !isObject(parsed.value)) return false
  return sameTexts(
    written.map(({ text }) => text),
    membersOf(judged).map(({ text }) => text),
  )
}

// ── Comparing ────────────────────────────────────────────────────────────────
const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index])

/** Four at a time, which takes a quarter of the time for a long body. */
function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true
  const { length } = a
  if (length !== b.length) return false
  const [x, y] = [viewOf(a), viewOf(b)]
  let at = 0
  for (; at + 4 <= length; at += 4) if (x.getUint32(at) !== y.getUint32(at)) return false
  for (; at < length; at++) if (a[at] !== b[at]) return false
  return true
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, length)
