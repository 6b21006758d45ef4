import type { IncomingMessage } from 'node:http'
import type { HttpCall } from '../../core/call.js'
import { headFault } from '../proxy/head-fault.js'
import { type Body, type BodyLimits, bodyFromHead, readBody } from '../proxy/read-body.js'
import { type RequestHead, readHead } from '../proxy/read-request.js'

/**
 * One request inside an application, read as the proxy reads it. The target is `req.url`: below the
 * mount point, which is what the handlers behind the gate are routed by.
 */
export async function readCall(
  req: IncomingMessage,
  to: (head: RequestHead) => Pick<HttpCall, 'upstream' | 'tool'>,
  limits: BodyLimits,
): Promise<HttpCall> {
  const head = readHead(req)
  const call = { ...head, ...to(head) }
  const body = await readWhole(req, head, limits)
  return { ...call, body }
}

async function readWhole(
  req: IncomingMessage,
  head: RequestHead,
  limits: BodyLimits,
): Promise<Body> {
  const fault = headFault({ ...head, httpVersion: req.httpVersion })
  if (fault !== null) return { kind: 'malformed', fault }
  const known = bodyFromHead(req, limits)
  if (known !== null) return known
  // Text instead of octets is no body either: what was sent cannot be told from it.
  if (req.readableDidRead || req.readableEncoding !== null) return { kind: 'consumed' }
  if (req.destroyed) return { kind: 'aborted' }
  return readBody(req, limits).body
}
