import type { ServerResponse } from 'node:http'
import type { Header } from '../../core/call/call.js'
import type { Gate } from '../../gate/gate.js'
import type { NamedUpstream } from '../../ports/upstream.js'
import { releaseTo } from '../http/client-outlet.js'
import { clientTerms } from '../http/hold-terms.js'
import { EXCHANGE_LIMITS } from '../http/limits.js'
import { reservedProblem } from '../http/own/problems.js'
import { isTransition } from '../http/own/transition.js'
import { answerTransitions, asksTransitions } from '../http/own/transitions.js'
import { relay } from '../http/relay.js'
import { respond, sendProblem } from '../http/respond.js'
import type { AppHandler, GuardOptions } from './gate.js'
import type { ProxyMiddlewareOptions } from './proxy-options.js'
import { bodyLimits, readCall } from './read-call.js'
import type { AppRequest } from './replay-request.js'

export type GovernedProxyOptions = ProxyMiddlewareOptions & {
  readonly gate: Gate
  /** The upstream's name in manifests and in the record; `default` unless told otherwise. */
  readonly upstream?: string
  /** The gate's own credential for the upstream; an agent's never goes through. */
  readonly credential?: { readonly header: string; value(): string }
} & Pick<GuardOptions, 'bodyBytes' | 'holdBytes'>
export type GovernedProxy = AppHandler & {
  /** Waits for calls under way, then closes the connections to the upstream. */
  close(): Promise<void>
}

/**
 * http-proxy-middleware's place in an Express application, governed: the judged octets go out, and the
 * response is read on a socket of our own. http-proxy stands on node:http, which accepts a response to a
 * half-sent request and framing that contradicts itself, so nothing seen through it could be called
 * confirmed (DESIGN §2.3).
 */
export function proxyRoutes(
  gate: Gate,
  to: NamedUpstream,
  options: Pick<GuardOptions, 'bodyBytes' | 'holdBytes'>,
): GovernedProxy {
  const { upstream } = to
  const upstreams = new Map([[upstream.name, to]])
  const limits = bodyLimits(options)
  const { holdLimit, stallMs } = EXCHANGE_LIMITS
  const held = { stallMs, holdLimit: options.holdBytes ?? holdLimit }

  async function serve(req: AppRequest, res: ServerResponse): Promise<void> {
    const here = { upstream: upstream.name, tool: null }
    const { call, identified, rest, room } = await readCall(req, gate, here, limits)
    // What is left of an unread body would be read as the next request's head.
    if (!req.complete) res.shouldKeepAlive = false
    if (identified.kind === 'known' && isTransition(call)) {
      room?.giveBack()
      // The call in it would pass by what the application has in front of its path.
      return sendProblem(res, reservedProblem('transition_not_here'), [], rest)
    }
    if (identified.kind === 'known' && asksTransitions(call)) {
      room?.giveBack()
      return answerTransitions(call, identified, res, gate)
    }
    const { dispatch, release } = relay(
      (rule, headers) => {
        const mount = rule.response_location === 'rewrite' ? (req.baseUrl ?? '') : ''
        const terms = { ...held, ...clientTerms(req, rule.hold_response) }
        return releaseTo(res, terms, gate.memory, (seen) => belowMount(headers(seen), mount))
      },
      { upstreams },
    )
    try {
      respond(await gate.govern(call, dispatch, identified), res, release(), rest)
    } finally {
      room?.giveBack()
      release()?.over()
    }
  }

  const handler: AppHandler = (req, res) => {
    serve(req, res).catch((error: unknown) => {
      gate.report({ level: 'error', event: 'exchange_failed', detail: String(error) })
      res.destroy()
    })
  }
  return Object.assign(handler, { close: () => upstream.close() })
}

/** A redirect that leads back through the gate leads to where the application mounted it. */
const belowMount = (headers: readonly Header[], mount: string): readonly Header[] =>
  mount === ''
    ? headers
    : headers.map(([name, value]) =>
        name === 'location' ? ([name, `${mount}${value}`] as const) : ([name, value] as const),
      )
