import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Header } from '../../core/call/call.js'
import type { Problem } from '../../core/verdict/problem.js'
import type { Answer } from '../../gate/answer/answer.js'
import type { HeldResponse } from '../../ports/dispatch.js'
import type { Release } from './machine.js'
import { pendingHeaders } from './pending-headers.js'
import { flat, gateHeaders } from './response-headers.js'

/** What becomes of body octets that are still to come while a refusal goes out. */
export type RestOfBody = 'drained' | 'left'

/** Answer → wire (DESIGN §7). `release` is there once something was dispatched. */
export function respond(
  answer: Answer,
  res: ServerResponse,
  release: Release | null,
  rest: RestOfBody,
): void {
  // A head that has gone out cannot be taken back: anything but its own end is a cut.
  if (release?.started() === true && answer.kind !== 'executed') {
    release.cut()
    return
  }
  switch (answer.kind) {
    case 'executed':
      if (release === null) res.destroy()
      else release.complete(answer)
      return
    case 'refused':
    case 'pending':
    case 'joined':
      sendProblem(
        res,
        answer.problem,
        [...pendingHeaders(answer.problem, res.req), ...gateHeaders(answer)],
        rest,
      )
      return
    case 'replayed':
      sendReplay(res, answer)
      return
    case 'unrecorded':
      sendProblem(res, answer.problem, [], rest)
      return
  }
}

export function sendProblem(
  res: ServerResponse,
  problem: Problem,
  headers: readonly Header[] = [],
  rest: RestOfBody = 'drained',
): void {
  if (res.destroyed || res.closed) return
  const body = Buffer.from(JSON.stringify(problem), 'utf8')
  res.writeHead(
    problem.status,
    flat([
      ['content-type', 'application/problem+json'],
      ['content-length', String(body.length)],
      ['cache-control', 'no-store'],
      ...toRetry(problem),
      ...headers,
    ]),
  )
  if (res.req.complete) res.end(body)
  else {
    res.write(body)
    if (rest === 'drained') res.req.resume()
    afterInput(res.req, () => res.end())
  }
}

/**
 * Closing on a client that still sends would reset the connection before it has read the answer. What
 * it sends is thrown away meanwhile, unless the body is left: then it stays in the sender's memory.
 */
const LINGER_MS = 1_000
function afterInput(req: IncomingMessage, then: () => void): void {
  const over = (): void => {
    clearTimeout(timer)
    req.off('end', over).off('close', over)
    then()
  }
  const timer = setTimeout(over, LINGER_MS)
  req.on('end', over).on('close', over)
}

function toRetry({ status, retry_after_seconds: seconds }: Problem): readonly Header[] {
  const after = typeof seconds === 'number' ? Math.max(1, Math.ceil(seconds)) : null
  switch (status) {
    case 401:
      return [['www-authenticate', 'Bearer realm="capsule-gate"']]
    case 429:
      return after === null ? [] : [['retry-after', String(after)]]
    case 503:
      return [['retry-after', String(after ?? 1)]]
    default:
      return []
  }
}

function sendReplay(
  res: ServerResponse,
  {
    response,
    ...ids
  }: { readonly actionId: string; readonly capsuleId: string; readonly response: HeldResponse },
): void {
  if (res.destroyed || res.closed) return
  const bodyless = res.req.method === 'HEAD' || response.status === 204 || response.status === 304
  const headers: Header[] = response.headers.filter(
    ([name]) => bodyless || name !== 'content-length',
  )
  if (!bodyless) headers.push(['content-length', String(response.body.length)])
  // Only complete answers are kept, and of those the status alone tells the verdict (DESIGN §6).
  const verdict = response.status >= 500 ? 'errored' : 'executed'
  headers.push(...gateHeaders({ ...ids, verdict }), ['gate-replayed', 'true'])
  res.writeHead(response.status, flat(headers))
  res.end(bodyless ? undefined : response.body)
}
