import type { Header, HttpCall } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import { withDeclared } from '../../../core/call/parts.js'
import { declaredOf } from '../../../core/intent/carry.js'
import { readTransition, type Transition } from '../../../core/runtime/transition.js'
import { declaredHeaders } from '../declared.js'
import { isReserved } from './reserved.js'

const TRANSITION = '/.gate/v1/transition'

export const isTransition = ({ method, target }: Pick<HttpCall, 'method' | 'target'>): boolean =>
  method === 'POST' && target === TRANSITION

/**
 * `POST /.gate/v1/transition`: the call that its agent would have made itself, where the declaration is too long
 * for a header. Any other call stays as it is. A transition that cannot be read is a call that is refused, and
 * recorded, as the request it came in.
 */
export function unwrapped(call: HttpCall): HttpCall {
  if (!isTransition(call) || call.body.kind !== 'read') return call
  // What a coding hides would be another message to whoever undoes it.
  if (call.headers.some(([name]) => name === 'content-encoding')) {
    return malformed(call, 'message_not_json')
  }
  const transition = readTransition(call.body.bytes)
  if (!transition.ok) return malformed(call, transition.fault)
  if (isReserved(transition.target)) return malformed(call, 'transition_reserved')
  return callOf(call, transition)
}

const malformed = (call: HttpCall, fault: Malformed): HttpCall => ({
  ...call,
  body: { kind: 'malformed', fault },
})

/** Of the message around the call, not of the call. */
const ENVELOPE: ReadonlySet<string> = new Set([
  'agent-intent',
  'agent-mandate',
  'content-length',
  'content-type',
  'expect',
  'transfer-encoding',
])

function callOf(envelope: HttpCall, { method, target, contentType, body, ...said }: Transition) {
  const { declared: _, ...rest } = envelope
  const { intent, mandate } = said
  const meta = {
    ...(intent === undefined ? {} : { intent }),
    ...(mandate === undefined ? {} : { mandate }),
  }
  const headers: Header[] = envelope.headers.filter(([name]) => !ENVELOPE.has(name))
  if (contentType !== null) headers.push(['content-type', contentType])
  if (body !== null) headers.push(['content-length', String(body.length)])
  const call: HttpCall = {
    ...rest,
    method,
    target,
    headers,
    body: { kind: 'read', bytes: body ?? NO_BYTES },
  }
  return withDeclared(call, declaredOf({ ...declaredHeaders(envelope.headers), meta }))
}

const NO_BYTES = new Uint8Array()
