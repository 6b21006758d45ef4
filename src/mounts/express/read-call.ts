import type { IncomingMessage } from 'node:http'
import type { HttpCall } from '../../core/call/call.js'
import type { Gate } from '../../gate/gate.js'
import type { BodyRoom } from '../../gate/memory.js'
import { headFault } from '../http/head-fault.js'
import { type BodyLimits, EXCHANGE_LIMITS } from '../http/limits.js'
import { type Body, bodyFromHead, leftUnread, readBody, restOf } from '../http/read-body.js'
import { type RequestHead, readHead, withBody } from '../http/read-request.js'

export const bodyLimits = ({ bodyBytes }: { readonly bodyBytes?: number }): BodyLimits => ({
  ...EXCHANGE_LIMITS.body,
  ...(bodyBytes === undefined ? {} : { maxBytes: bodyBytes }),
})

/**
 * One request inside an application, read as the proxy reads it. The target is `req.url`: below the
 * mount point, which is what the handlers behind the gate are routed by. `room` is given back when the
 * exchange is over.
 */
export async function readCall(
  req: IncomingMessage,
  gate: Gate,
  to: Pick<HttpCall, 'upstream' | 'tool'>,
  limits: BodyLimits,
) {
  const head = readHead(req)
  const identified = await gate.identify(head.caller)
  if (identified.kind === 'unknown') {
    const call = withBody(head, leftUnread(req), to)
    return { call, identified, rest: 'left' as const, room: null }
  }
  const room = gate.memory.bodyOf(identified.agent)
  const body = await readWhole(req, head, limits, room)
  return { call: withBody(head, body, to), identified, rest: restOf(body), room }
}

async function readWhole(
  req: IncomingMessage,
  head: RequestHead,
  limits: BodyLimits,
  room: BodyRoom,
): Promise<Body> {
  const fault = headFault({ ...head, httpVersion: req.httpVersion })
  if (fault !== null) return { kind: 'malformed', fault }
  const known = bodyFromHead(req, limits, room)
  if (known !== null) return known
  // Text instead of octets is no body either: what was sent cannot be told from it.
  if (req.readableDidRead || req.readableEncoding !== null) return { kind: 'consumed' }
  if (req.destroyed) return { kind: 'aborted' }
  return readBody(req, limits, room).body
}
