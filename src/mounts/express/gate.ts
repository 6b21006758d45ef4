import type { ServerResponse } from 'node:http'
import { createGate, narrowed, type OpenGate } from '../../app/create-gate.js'
import type { GateConfig } from '../../config/model.js'
import { octetsOf } from '../../core/call/parts.js'
import { unrecordedProblem } from '../../core/verdict/problem.js'
import type { Answer } from '../../gate/answer/answer.js'
import type { Gate } from '../../gate/gate.js'
import type { BodyRoom } from '../../gate/memory.js'
import type { Dispatch, Dispatched } from '../../ports/dispatch.js'
import { clientTerms, holdFor } from '../http/hold.js'
import { type RestOfBody, respond, sendProblem } from '../http/respond.js'
import { DEFAULT_LIMITS } from '../proxy/options.js'
import { type Intercepted, intercept } from './intercept.js'
import { observed } from './observed.js'
import { readCall } from './read-call.js'
import { type Answers, watchRelaying } from './relayed.js'
import { type AppRequest, replayRequest } from './replay-request.js'

export type AppHandler = (
  req: AppRequest,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void
export type GuardOptions = {
  /** Whose words the answers behind the gate are; see `Answers`. */
  readonly answers?: Answers
  readonly bodyBytes?: number
  readonly holdBytes?: number
}
export type GateMiddleware<G extends Gate> = AppHandler & {
  /** Guards one route as this tool, whatever path the application gave it. */
  guard(tool: string, options?: GuardOptions): AppHandler
  /** The gate behind it; rejects when it could not be opened, and then every call is refused. */
  readonly ready: Promise<G>
}

/**
 * Express 5 and 4 middleware: every request behind it is judged, run and recorded. It must come before
 * any body parser. Given a configuration it opens the gate itself.
 */
export function gate(of: GateConfig, options?: GuardOptions): GateMiddleware<OpenGate>
export function gate<G extends Gate>(of: G, options?: GuardOptions): GateMiddleware<G>
export function gate(of: Gate | GateConfig, options: GuardOptions = {}): GateMiddleware<Gate> {
  const ready: Promise<Gate> = 'govern' in of ? Promise.resolve(of) : createGate(of).then(narrowed)
  const limits: GuardOptions =
    'govern' in of ? {} : { bodyBytes: of.limits.body_bytes, holdBytes: of.limits.hold_bytes }
  const handler =
    (tool: string | null, more: GuardOptions): AppHandler =>
    (req, res, next) => {
      void ready.then(
        (opened) => serve(opened, tool, { ...limits, ...more }, { req, res, next }),
        () => sendProblem(res, unrecordedProblem('record_unavailable')),
      )
    }
  return Object.assign(handler(null, options), {
    guard: (tool: string, more: GuardOptions = {}) => handler(tool, { ...options, ...more }),
    ready,
  })
}

type Exchange = {
  readonly req: AppRequest
  readonly res: ServerResponse
  readonly next: (error?: unknown) => void
}

async function serve(
  opened: Gate,
  tool: string | null,
  options: GuardOptions,
  exchange: Exchange,
): Promise<void> {
  const { req, res } = exchange
  let answer: Intercepted | null = null
  let body: BodyRoom | null = null
  try {
    const { call, identified, rest, room } = await readCall(
      req,
      opened,
      { upstream: null, tool },
      { ...DEFAULT_LIMITS.body, maxBytes: options.bodyBytes ?? DEFAULT_LIMITS.body.maxBytes },
    )
    body = room
    // What is left of an unread body would be read as the next request's head.
    if (!req.complete) res.shouldKeepAlive = false
    const dispatch = toHandler(opened, options, exchange, (intercepted) => {
      answer = intercepted
    })
    const told = await opened.govern(call, dispatch, identified)
    finish(told, res, answer, rest)
  } catch (error) {
    opened.report({ level: 'error', event: 'exchange_failed', detail: String(error) })
    res.destroy()
  } finally {
    body?.giveBack()
    over(answer)
  }
}

/** Assigned in a callback: the compiler still believes that it is null. */
const over = (answer: Intercepted | null): void => answer?.exchanged()

/** The middleware's way to send a call: to the handlers behind it, with their response intercepted. */
function toHandler(
  { report, memory }: Gate,
  options: GuardOptions,
  { req, res, next }: Exchange,
  opening: (intercepted: Intercepted) => void,
): Dispatch {
  return async ({ actionId, call, rule, stillAllowed, saltedDigest }) => {
    if (!stillAllowed()) return notSent('withdrawn')
    const holdLimit = options.holdBytes ?? DEFAULT_LIMITS.holdLimit
    const terms = clientTerms(req.httpVersion, String(req.headers.te ?? ''), rule.hold_response)
    const hold = holdFor({ ...terms, holdLimit }, memory)
    if (hold === null) return notSent('no_room_to_hold')
    const answer = intercept(req, res, {
      ...terms,
      stallMs: DEFAULT_LIMITS.stallMs,
      hold,
      jsonLimit: hold.room === null ? 0 : holdLimit,
      salted: saltedDigest,
      answeredTwice: () => report({ level: 'warn', event: 'answered_twice', actionId }),
    })
    opening(answer)
    replayRequest(req, octetsOf(call))
    const relaying = watchRelaying(req, res, options.answers)
    const deadline = setTimeout(
      () => answer.abandon('total_deadline', true),
      rule.deadlines.total_ms,
    )
    try {
      next()
      return observed(await answer.over, rule, {
        relayed: relaying.isRelayed(),
        saltedDigest,
      })
    } catch (error) {
      // Express catches what its handlers throw; other routers let it through.
      report({ level: 'error', event: 'handler_threw', actionId, detail: String(error) })
      return { observation: { kind: 'claimed', ok: false }, held: null }
    } finally {
      clearTimeout(deadline)
      relaying.stop()
    }
  }
}

const notSent = (cause: string): Dispatched => ({
  observation: { kind: 'not_sent', cause, deadline: false },
  held: null,
})

function finish(
  answer: Answer,
  res: ServerResponse,
  handler: Intercepted | null,
  rest: RestOfBody,
): void {
  if (answer.kind === 'executed' && handler !== null) handler.release(answer)
  // A head that has gone out cannot be taken back.
  else if (handler?.started() === true) handler.cut()
  else {
    handler?.discard()
    respond(answer, res, null, rest)
  }
}
