import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Malformed } from '../../core/call/malformed.js'
import type { BodyRoom } from '../../gate/memory.js'
import { headFault } from './head-fault.js'
import type { BodyLimits } from './limits.js'
import { type Body, type BodyReading, bodyFromHead, readBody } from './read-body.js'
import type { RequestHead } from './read-request.js'

export type Incoming = {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** The client waits for 100 Continue before it sends its body. */
  readonly expectsContinue: boolean
  /** While the body is on its way, the parser's complaints belong to this request. */
  readonly queue: { reading: Pick<BodyReading, 'fail'> | null }
  /** What the parser complained about before the body was read. */
  fault: Malformed | null
}

/** The body of a known caller's request, or why it cannot be read. */
export async function readWhole(
  { method, headers }: RequestHead,
  { req, res, expectsContinue, queue, fault: seen }: Incoming,
  limits: BodyLimits,
  room: BodyRoom,
): Promise<Body> {
  const fault = seen ?? headFault({ method, headers, httpVersion: req.httpVersion })
  if (fault !== null) return { kind: 'malformed', fault }
  // Its caller left while the request before it on the same connection was answered.
  if (res.destroyed || req.destroyed) return { kind: 'aborted' }
  const known = bodyFromHead(req, limits, room)
  if (known !== null) return known
  if (expectsContinue) res.writeContinue()
  const reading = readBody(req, limits, room, 'last_octet')
  queue.reading = reading
  try {
    return await reading.body
  } finally {
    queue.reading = null
  }
}
