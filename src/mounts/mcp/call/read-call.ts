import { fromBase64url } from '../../../core/bytes/base64url.js'
import { fromUtf8, utf8 } from '../../../core/bytes/text.js'
import type { McpCall } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import { parse } from '../../../core/json/parse.js'
import { isObject, JsonNumber, type JsonObject } from '../../../core/json/value.js'
import { objectOf, onOneLine, type Request } from '../../../core/mcp/message.js'
import { metaMembers, metaOf, OWN, passesInMeta } from '../../../core/mcp/meta.js'
import { namedBy } from '../../../core/mcp/methods.js'
import { MAX_WAIT_SECONDS } from '../../http/limits.js'

/** What a request for something of a server says, before anything is known of its rule. */
export type CallRead =
  | {
      readonly ok: true
      readonly call: Pick<McpCall, 'method' | 'name' | 'body' | 'more' | 'meta'> &
        Pick<McpCall, 'idempotencyKey' | 'approvalId' | 'waitSeconds'>
      /** It is the client's retry of a call that waits for a person. */
      readonly resumes: boolean
    }
  | { readonly ok: false; readonly fault: Extract<Malformed, `message_${string}`> }

/** Members that belong to the protocol, not to the tool. They are sent as they are, and bound. */
const MORE: ReadonlySet<string> = new Set(['task', 'inputResponses', 'requestState'])

export function readCall(request: Request, listed: ReadonlySet<string>): CallRead {
  const { method, params } = request
  const meta = metaMembers(params.members)
    .filter(({ name }) => passesInMeta(name, listed))
    .map(({ text }) => text)
    .join(',')
  const own = ownKeys(metaOf(params.value))
  const about = namedBy(method)
  if (about === null || about === 'taskId') {
    const rest = params.members.filter(({ name }) => name !== '_meta').map(({ text }) => text)
    const body = { kind: 'read', bytes: utf8(rest.length === 0 ? '' : objectOf(rest)) } as const
    return { ok: true, call: { method, name: null, body, more: '', meta, ...own }, resumes: false }
  }
  const name = params.value.get(about)
  if (typeof name !== 'string') return { ok: false, fault: 'message_not_rpc' }
  let args = ''
  const more: string[] = []
  for (const member of params.members) {
    if (member.name === about || member.name === '_meta') continue
    if (member.name === 'arguments' && about === 'name') args = member.value
    else if (MORE.has(member.name)) more.push(member.text)
    else return { ok: false, fault: 'message_param_unknown' }
  }
  const resumed = resumedFrom(params.value)
  const body = { kind: 'read', bytes: utf8(args) } as const
  const call = { method, name, body, meta, ...own }
  return resumed === null
    ? { ok: true, call: { ...call, more: more.join(',') }, resumes: false }
    : {
        ok: true,
        call: {
          ...call,
          more: resumed.more,
          approvalId: resumed.approval,
          waitSeconds: MAX_WAIT_SECONDS,
        },
        resumes: true,
      }
}

function ownKeys(meta: JsonObject): Pick<McpCall, 'idempotencyKey' | 'approvalId' | 'waitSeconds'> {
  const text = (key: string): string | null => {
    const value = meta.get(key)
    return typeof value === 'string' && value !== '' ? value : null
  }
  const wait = meta.get(OWN.wait)
  const seconds = wait instanceof JsonNumber ? Number(wait.token) : 0
  return {
    idempotencyKey: text(OWN.idempotencyKey),
    approvalId: text(OWN.approval),
    waitSeconds: seconds > 0 ? Math.min(seconds, MAX_WAIT_SECONDS) : 0,
  }
}

/**
 * The state that a client carries while a person decides: which approval, and what the call had beside its
 * arguments. It needs no seal: an id is no credential, and other members make it another request, which the
 * approval does not cover.
 */
const STATE = 'dev.capsulegate.'
type Resumed = { readonly approval: string; readonly more: string }

export const requestState = (resumed: Resumed): string =>
  `${STATE}${Buffer.from(JSON.stringify(resumed), 'utf8').toString('base64url')}`

function resumedFrom(params: JsonObject): Resumed | null {
  const state = params.get('requestState')
  if (typeof state !== 'string' || !state.startsWith(STATE)) return null
  const octets = fromBase64url(state.slice(STATE.length))
  const text = octets === null ? null : fromUtf8(octets)
  const parsed = text === null ? null : parse(text)
  if (parsed === null || !parsed.ok || !isObject(parsed.value)) return null
  const [approval, more] = [parsed.value.get('approval'), parsed.value.get('more')]
  if (typeof approval !== 'string' || typeof more !== 'string') return null
  return isMore(more) ? { approval, more: onOneLine(more) } : null
}

/** It goes into a message of the gate's own: no other member may come in by it. */
function isMore(more: string): boolean {
  const parsed = parse(`{${more}}`)
  return parsed.ok && isObject(parsed.value) && [...parsed.value.keys()].every((n) => MORE.has(n))
}
