import { utf8 } from '../bytes/text.js'
import type { Malformed } from '../call/malformed.js'
import { type ParseFailure, parseSourced } from '../json/parse.js'
import { type Member, membersOf } from '../json/spans.js'
import { isArray, isObject, JsonNumber, type JsonObject } from '../json/value.js'

/** One JSON-RPC message as it was read. Texts are as they were written, but for line breaks between tokens. */
export type Message = Request | Notification | Response
export type Request = {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: Params
}
export type Notification = {
  readonly kind: 'notification'
  readonly method: string
  readonly params: Params
}
export type Response = {
  readonly kind: 'response'
  readonly id: RequestId
  readonly body:
    | { readonly kind: 'result'; readonly text: string; readonly value: JsonObject }
    | { readonly kind: 'error'; readonly text: string; readonly code: number }
}
/** A number or a string, as its sender wrote it. */
export type RequestId = {
  readonly text: string
  /** Equal for equal ids, however they are written. */
  readonly key: string
}
export type Params = {
  readonly members: readonly Member[]
  readonly value: JsonObject
  /** The text as its sender wrote it, where line breaks between its tokens were replaced. */
  readonly written?: string
}
export type MessageRead =
  | { readonly ok: true; readonly message: Message }
  | {
      readonly ok: false
      readonly fault: MessageFault
      /** Where it could still be read, so that the sender can be told. */
      readonly id: RequestId | null
    }
/** What one message can have wrong by itself. */
export type MessageFault = Exclude<Extract<Malformed, `message_${string}`>, 'message_id_in_flight'>

export const NO_PARAMS: Params = { members: [], value: new Map() }

const FAULT_OF: Partial<Record<ParseFailure['code'], MessageFault>> = {
  duplicate_name: 'message_names_twice',
}
const MEMBERS: ReadonlySet<string> = new Set([
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
])

export function readMessage(octets: Uint8Array, maxBytes: number): MessageRead {
  const parsed = parseSourced(octets, { maxBytes })
  if (!parsed.ok) {
    return { ok: false, fault: FAULT_OF[parsed.code] ?? 'message_not_json', id: null }
  }
  const { value } = parsed
  if (isArray(value)) return { ok: false, fault: 'message_batched', id: null }
  if (!isObject(value)) return { ok: false, fault: 'message_not_rpc', id: null }
  const message = messageOf(value, parsed.text)
  return message === null
    ? { ok: false, fault: 'message_not_rpc', id: requestId(value) }
    : { ok: true, message }
}

/** A message on stdio is a line; inside strings a line break is always escaped. */
export const onOneLine = (text: string): string =>
  /[\n\r]/.test(text) ? text.replaceAll(/[\n\r]/g, ' ') : text

function messageOf(value: JsonObject, written: string): Message | null {
  const text = onOneLine(written)
  if (value.get('jsonrpc') !== '2.0') return null
  for (const name of value.keys()) if (!MEMBERS.has(name)) return null
  const members = membersOf(text)
  const id = requestId(value)
  if (value.has('id') && id === null) return null
  const method = value.get('method')
  if (method === undefined) return id === null ? null : responseOf(id, value, members)
  if (typeof method !== 'string' || method === '') return null
  if (value.has('result') || value.has('error')) return null
  const params = paramsOf(value, members, text === written ? null : written)
  if (params === null) return null
  return id === null
    ? { kind: 'notification', method, params }
    : { kind: 'request', id, method, params }
}

function paramsOf(
  value: JsonObject,
  members: readonly Member[],
  written: string | null,
): Params | null {
  const params = value.get('params')
  if (params === undefined) return NO_PARAMS
  if (!isObject(params)) return null
  const read = { value: params, members: membersOf(textOf(members, 'params')) }
  return written === null ? read : { ...read, written: textOf(membersOf(written), 'params') }
}

function responseOf(id: RequestId, value: JsonObject, members: readonly Member[]): Response | null {
  const [result, error] = [value.get('result'), value.get('error')]
  if (value.has('params') || (result === undefined) === (error === undefined)) return null
  if (error !== undefined) {
    if (!isObject(error)) return null
    const code = error.get('code')
    const number = code instanceof JsonNumber ? Number(code.token) : 0
    const text = textOf(members, 'error')
    return { kind: 'response', id, body: { kind: 'error', text, code: number } }
  }
  if (!isObject(result)) return null
  const text = textOf(members, 'result')
  return { kind: 'response', id, body: { kind: 'result', text, value: result } }
}

const textOf = (members: readonly Member[], wanted: string): string =>
  members.find(({ name }) => name === wanted)?.value ?? ''

const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/

function requestId(value: JsonObject): RequestId | null {
  const id = value.get('id')
  if (typeof id === 'string') return { text: JSON.stringify(id), key: `s${id}` }
  if (!(id instanceof JsonNumber) || !INTEGER.test(id.token)) return null
  return { text: id.token, key: `n${id.token}` }
}

// ── Writing ──────────────────────────────────────────────────────────────────
export const objectOf = (members: readonly string[]): string => `{${members.join(',')}}`

export const requestOctets = (id: number | string, method: string, params: string): Uint8Array =>
  utf8(
    `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params === '' ? '' : `,"params":${params}`}}`,
  )

export const notificationOctets = (method: string, params: string): Uint8Array =>
  utf8(
    `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params === '' ? '' : `,"params":${params}`}}`,
  )

export const resultOctets = (id: RequestId, result: string): Uint8Array =>
  utf8(`{"jsonrpc":"2.0","id":${id.text},"result":${result}}`)

/** Without an id where the request's could not be read. */
export const errorOctets = (id: RequestId | null, error: string): Uint8Array =>
  utf8(`{"jsonrpc":"2.0",${id === null ? '' : `"id":${id.text},`}"error":${error}}`)

export const responseOctets = (id: RequestId, { body }: Pick<Response, 'body'>): Uint8Array =>
  body.kind === 'result' ? resultOctets(id, body.text) : errorOctets(id, body.text)
