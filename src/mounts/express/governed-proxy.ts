import type { ServerResponse } from 'node:http'
import { createUpstream } from '../../adapters/http-client/upstream.js'
import type { Header } from '../../core/call/call.js'
import type { Gate } from '../../gate/gate.js'
import { releaseTo } from '../http/client.js'
import { clientTerms } from '../http/hold.js'
import { type Leaving, relay } from '../http/relay.js'
import { respond } from '../http/respond.js'
import { clientHeaders } from '../http/response-headers.js'
import { DEFAULT_LIMITS } from '../proxy/options.js'
import type { AppHandler } from './gate.js'
import { type ProxyMiddlewareOptions, readOptions } from './proxy-options.js'
import { readCall } from './read-call.js'
import type { AppRequest } from './replay-request.js'

export type GovernedProxyOptions = ProxyMiddlewareOptions & {
  readonly gate: Gate
  /** The upstream's name in manifests and in the record; `default` unless told otherwise. */
  readonly upstream?: string
  /** The gate's own credential for the upstream; an agent's never goes through. */
  readonly credential?: { readonly header: string; value(): string }
  readonly bodyBytes?: number
  readonly holdBytes?: number
}
export type GovernedProxy = AppHandler & {
  /** Waits for calls under way, then closes the connections to the upstream. */
  close(): Promise<void>
}

/**
 * http-proxy-middleware's place in an Express application, governed: the judged octets go out, and the
 * answer is read on a socket of our own. http-proxy stands on node:http, which accepts an answer to a
 * half-sent request and framing that contradicts itself, so nothing seen through it could be called
 * confirmed (DESIGN §2.3).
 */
export function governedProxy(options: GovernedProxyOptions): GovernedProxy {
  const { gate, upstream: name = 'default', credential, holdBytes } = options
  const { origin, totalMs, tls } = readOptions(options)
  const upstream = createUpstream({
    name,
    origin,
    ...(holdBytes === undefined ? {} : { holdLimit: holdBytes }),
    ...tls,
    ...(credential === undefined ? {} : { credential }),
  })
  const deadlines = totalMs === null ? {} : { total_ms: totalMs }
  const upstreams = new Map([[name, { upstream, origin, deadlines }]])
  const limits = {
    ...DEFAULT_LIMITS.body,
    maxBytes: options.bodyBytes ?? DEFAULT_LIMITS.body.maxBytes,
  }
  const never = new AbortController().signal

  async function serve(req: AppRequest, res: ServerResponse): Promise<void> {
    const here = { upstream: name, tool: null }
    const { call, identified, rest, room } = await readCall(req, gate, here, limits)
    // What is left of an unread body would be read as the next request's head.
    if (!req.complete) res.shouldKeepAlive = false
    const openRelease = ({ request, rule }: Leaving) => {
      const terms = {
        ...clientTerms(req.httpVersion, String(req.headers.te ?? ''), rule.hold_response),
        holdLimit: holdBytes ?? DEFAULT_LIMITS.holdLimit,
        stallMs: DEFAULT_LIMITS.stallMs,
      }
      return releaseTo(res, terms, gate.memory, (headers) =>
        belowMount(
          clientHeaders(headers, request.target, origin, rule.response_location),
          rule.response_location === 'rewrite' ? (req.baseUrl ?? '') : '',
        ),
      )
    }
    const { dispatch, release } = relay(openRelease, { upstreams, signal: never })
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
