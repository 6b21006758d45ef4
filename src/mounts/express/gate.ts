import type { ServerResponse } from 'node:http'
import { octetsOf } from '../../core/call/parts.js'
import type { OctetsHashing } from '../../core/http/response-body.js'
import { witness } from '../../core/http/witness.js'
import { unrecordedProblem } from '../../core/verdict/problem.js'
import type { Answer } from '../../gate/answer/answer.js'
import type { Gate } from '../../gate/gate.js'
import type { BodyRoom } from '../../gate/memory.js'
import {
  type Dispatch,
  type Dispatched,
  type DispatchOrder,
  notSent,
} from '../../ports/dispatch.js'
import { clientTerms, holdFor } from '../http/hold-terms.js'
import { EXCHANGE_LIMITS } from '../http/limits.js'
import { reservedProblem } from '../http/own/problems.js'
import { isTransition } from '../http/own/transition.js'
import { answerTransitions, asksTransitions } from '../http/own/transitions.js'
import { type RestOfBody, respond, sendProblem } from '../http/respond.js'
import { type HandlerEnd, type Intercepted, intercept } from './intercept.js'
import { bodyLimits, readCall } from './read-call.js'
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

/** Middleware around a gate that may still be opening: every request behind it is judged, run and recorded. */
export function guardRoutes<G extends Gate>(
  ready: Promise<G>,
  options: GuardOptions,
  hashing: OctetsHashing,
): GateMiddleware<G> {
  const handler =
    (tool: string | null, more: GuardOptions): AppHandler =>
    (req, res, next) => {
      void ready.then(
        (gate) => serve({ gate, tool, options: { ...options, ...more }, hashing, req, res, next }),
        () => sendProblem(res, unrecordedProblem('record_unavailable')),
      )
    }
  return Object.assign(handler(null, {}), {
    guard: (tool: string, more: GuardOptions = {}) => handler(tool, more),
    ready,
  })
}

type Exchange = {
  readonly gate: Gate
  readonly tool: string | null
  readonly options: GuardOptions
  readonly hashing: OctetsHashing
  readonly req: AppRequest
  readonly res: ServerResponse
  readonly next: (error?: unknown) => void
}

async function serve(exchange: Exchange): Promise<void> {
  const { gate, tool, options, req, res } = exchange
  const { dispatch, intercepted } = toHandler(exchange)
  let body: BodyRoom | null = null
  try {
    const to = { upstream: null, tool }
    const { call, identified, rest, room } = await readCall(req, gate, to, bodyLimits(options))
    body = room
    // What is left of an unread body would be read as the next request's head.
    if (!req.complete) res.shouldKeepAlive = false
    // The handlers behind it are found by the request that they were given, and no other can be made of it.
    if (identified.kind === 'known' && isTransition(call)) {
      return sendProblem(res, reservedProblem('transition_not_here'), [], rest)
    }
    // A route that the application guards as a tool is the tool's, whatever it is called.
    if (identified.kind === 'known' && tool === null && asksTransitions(call)) {
      return await answerTransitions(call, identified, res, gate)
    }
    finish(await gate.govern(call, dispatch, identified), res, intercepted(), rest)
  } catch (error) {
    gate.report({ level: 'error', event: 'exchange_failed', detail: String(error) })
    res.destroy()
  } finally {
    body?.giveBack()
    intercepted()?.exchanged()
  }
}

/** The middleware's way to send a call: to the handlers behind it, with their response intercepted. */
function toHandler({ gate, options, hashing, req, res, next }: Exchange): {
  readonly dispatch: Dispatch
  readonly intercepted: () => Intercepted | null
} {
  let intercepted: Intercepted | null = null
  const dispatch: Dispatch = async (order) => {
    const { actionId, call, rule, stillAllowed, saltedDigest } = order
    if (!stillAllowed()) return { observation: notSent('withdrawn'), held: null }
    const holdLimit = options.holdBytes ?? EXCHANGE_LIMITS.holdLimit
    const terms = clientTerms(req, rule.hold_response)
    const hold = holdFor({ ...terms, holdLimit }, gate.memory)
    if (hold === null) return { observation: notSent('no_room_to_hold'), held: null }
    const response = intercept(req, res, {
      ...terms,
      stallMs: EXCHANGE_LIMITS.stallMs,
      hold,
      jsonLimit: hold.room === null ? 0 : holdLimit,
      hashing,
      salted: saltedDigest,
      answeredTwice: () => gate.report({ level: 'warn', event: 'answered_twice', actionId }),
    })
    intercepted = response
    replayRequest(req, octetsOf(call))
    const relaying = watchRelaying(req, res, options.answers)
    const deadline = setTimeout(
      () => response.abandon('total_deadline', true),
      rule.deadlines.total_ms,
    )
    try {
      next()
      return observed(await response.over, order, relaying.isRelayed(), hashing)
    } catch (error) {
      // Express catches what its handlers throw; other routers let it through.
      gate.report({ level: 'error', event: 'handler_threw', actionId, detail: String(error) })
      return { observation: { kind: 'claimed', ok: false }, held: null }
    } finally {
      clearTimeout(deadline)
      relaying.stop()
    }
  }
  return { dispatch, intercepted: () => intercepted }
}

/** How a handler's run becomes an observation: confirmed only out of an end of its own that was seen. */
function observed(
  end: HandlerEnd,
  { rule, saltedDigest }: DispatchOrder,
  relayed: boolean,
  hashing: OctetsHashing,
): Dispatched {
  if (end.kind === 'sent') return { observation: end, held: null }
  const { head, body, held } = end
  // Whether a response passed on by another proxy was whole was not seen (DESIGN §2.3).
  if (relayed) return { observation: { kind: 'claimed', ok: head.status < 500 }, held }
  const { success, effect } = rule
  const witnessRule = { success, saltedDigest, external_ref: effect.external_ref }
  return { observation: witness(head, 'handler_end', body, witnessRule, hashing), held }
}

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
