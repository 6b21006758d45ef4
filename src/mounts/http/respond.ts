import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Header } from '../../core/call/call.js'
import { isBodyless } from '../../core/http/response.js'
import type { Problem } from '../../core/verdict/problem.js'
import type { Answer, Replay } from '../../gate/answer/answer.js'
import type { Release } from './hold-and-release.js'
import { rawHeaders } from './read-request.js'
import { flat, gateHeaders, replayHeaders } from './response-headers.js'

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
    case 'joined': {
      const headers = [...pendingHeaders(answer.problem, res.req), ...gateHeaders(answer)]
      sendProblem(res, answer.problem, headers, rest)
      return
    }
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

/** Where to ask how it stands, and which preference was kept (RFC 9110 §15.3.3, RFC 7240 §3). */
function pendingHeaders(problem: Problem, req: IncomingMessage): readonly Header[] {
  const { status, approval_id: id, retry_after_seconds: after } = problem
  if (status !== 202 || typeof id !== 'string') return []
  const asked = rawHeaders(req)
    .filter(([name]) => name === 'prefer')
    .flatMap(([, value]) => value.split(','))
    .map((preference) => preference.split(/[;=]/)[0]?.trim().toLowerCase())
  const applied = ['respond-async', 'wait'].filter((name) => asked.includes(name)).join(', ')
  return [
    ['location', `/.gate/v1/actions/${id}`],
    ['retry-after', String(wholeSeconds(after) ?? 5)],
    ...(applied === '' ? [] : ([['preference-applied', applied]] as const)),
  ]
}

const wholeSeconds = (seconds: unknown): number | null =>
  typeof seconds === 'number' ? Math.max(1, Math.ceil(seconds)) : null

function toRetry({ status, retry_after_seconds: seconds }: Problem): readonly Header[] {
  const after = wholeSeconds(seconds)
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

function sendReplay(res: ServerResponse, replay: Replay): void {
  if (res.destroyed || res.closed) return
  const { response } = replay
  const bodyless = isBodyless(res.req.method, response.status)
  const headers: Header[] = response.headers.filter(
    ([name]) => bodyless || name !== 'content-length',
  )
  if (!bodyless) headers.push(['content-length', String(response.body.length)])
  res.writeHead(response.status, flat([...headers, ...replayHeaders(replay)]))
  res.end(bodyless ? undefined : response.body)
}
