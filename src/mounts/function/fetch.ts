import type { Header, HttpCall } from '../../core/call/call.js'
import { isBodyless } from '../../core/http/response.js'
import type { Answer } from '../../gate/answer/answer.js'
import type { Gate } from '../../gate/gate.js'
import type { NamedUpstream } from '../../ports/upstream.js'
import { declaredHeaders } from '../http/declared.js'
import { Release } from '../http/hold-and-release.js'
import { holdFor } from '../http/hold-terms.js'
import { EXCHANGE_LIMITS } from '../http/limits.js'
import { relay } from '../http/relay.js'
import { gateHeaders, pairs, replayHeaders } from '../http/response-headers.js'
import { type CallAs, inProcess } from './call-as.js'
import { responseOutlet } from './outlet.js'

export type GatedFetch = (
  input: string | URL | Request,
  init: RequestInit & CallAs,
) => Promise<Response>

export type FetchOptions = {
  readonly upstreams: ReadonlyMap<string, NamedUpstream>
  readonly holdBytes: number
}

/**
 * `fetch` through the gate, to the upstreams of its configuration and nowhere else. The gate reads the
 * answer itself, so that it can be confirmed. A refusal is a `Response` with a problem document, as from
 * the proxy. A caller that gives up is let go; what was sent is observed to its end.
 */
export function gatedFetch(gate: Gate, { upstreams, holdBytes }: FetchOptions): GatedFetch {
  return async (input, init) => {
    const { agent, idempotencyKey, approvalId, waitSeconds, intent, mandate, ...plain } = init
    const request = new Request(input, plain)
    request.signal.throwIfAborted()
    const url = new URL(request.url)
    const [name] = [...upstreams].find(([, to]) => new URL(to.origin).origin === url.origin) ?? []
    const headers = [...request.headers] as Header[]
    const call: HttpCall = {
      kind: 'http',
      method: request.method,
      // No manifest names an origin, so that a call to an unknown one is judged, refused and recorded.
      upstream: name ?? url.origin,
      target: `${url.pathname}${url.search}`,
      headers,
      body: { kind: 'read', bytes: new Uint8Array(await request.arrayBuffer()) },
      tool: null,
      callerLeft: () => request.signal.aborted,
      ...inProcess(
        {
          agent,
          idempotencyKey: idempotencyKey ?? request.headers.get('idempotency-key'),
          approvalId: approvalId ?? request.headers.get('gate-approval'),
          waitSeconds,
          intent,
          mandate,
        },
        // A header that was given twice is one here, with a comma: no declaration and no mandate has one.
        declaredHeaders(headers),
      ),
    }
    const outlet = responseOutlet(EXCHANGE_LIMITS.stallMs)
    const { dispatch, release } = relay(
      ({ hold_response: holdAll }, visible) => {
        const hold = holdFor({ holdLimit: holdBytes, holdAll }, gate.memory)
        return hold === null ? null : new Release(outlet, hold, visible)
      },
      { upstreams },
    )
    const governed = gate
      .govern(call, dispatch)
      .then((answer) => finish(answer, release()))
      .finally(() => release()?.over())
      .then((early) => early ?? outlet.response)
    return Promise.race([governed, outlet.response, aborted(request.signal)])
  }
}

/** Null: the release gives the response itself. */
function finish(answer: Answer, release: Release | null): Response | null {
  switch (answer.kind) {
    case 'executed':
      if (release === null) throw new TypeError('the call was answered without being sent')
      release.complete(answer)
      return null
    case 'replayed': {
      const { status, headers, body } = answer.response
      const all = pairs([...headers, ...replayHeaders(answer)])
      return new Response(isBodyless('GET', status) ? null : Buffer.from(body), {
        status,
        headers: all,
      })
    }
    case 'refused':
    case 'pending':
    case 'joined':
    case 'unrecorded':
      if (release?.started() === true) {
        release.cut()
        return null
      }
      return new Response(JSON.stringify(answer.problem), {
        status: answer.problem.status,
        headers: pairs([
          ['content-type', 'application/problem+json'],
          ...(answer.kind === 'unrecorded' ? [] : gateHeaders(answer)),
        ]),
      })
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
