import type { Gate } from '../../gate/gate.js'
import type { Identified } from '../../ports/identity.js'
import { releaseTo } from '../http/client-outlet.js'
import type { Release } from '../http/hold-and-release.js'
import { clientTerms } from '../http/hold-terms.js'
import { unwrapped } from '../http/own/transition.js'
import { leftUnread, restOf } from '../http/read-body.js'
import { type RequestHead, withBody } from '../http/read-request.js'
import { type Incoming, readWhole } from '../http/read-whole.js'
import { relay } from '../http/relay.js'
import { respond } from '../http/respond.js'
import type { ProxyOptions } from './options.js'

/** Who sent this head. Nothing behind it is read meanwhile, and what the parser says of it is kept. */
export function identifyCaller(
  { caller }: RequestHead,
  incoming: Incoming,
  gate: Gate,
): Identified | Promise<Identified> {
  const found = gate.identify(caller)
  if (!(found instanceof Promise)) return found
  const { req, queue } = incoming
  queue.reading = {
    fail(fault) {
      if (req.complete) return false
      incoming.fault = fault
      return true
    },
  }
  return found.finally(() => {
    queue.reading = null
  })
}

/** One governed request: read if its caller is known, judged by the gate, answered. */
export async function governExchange(
  head: RequestHead,
  identified: Identified,
  incoming: Incoming,
  options: ProxyOptions,
  /** Aborts when a shutdown has waited long enough. */
  cutOff: AbortSignal,
): Promise<void> {
  const { req, res } = incoming
  const { gate } = options
  const room = identified.kind === 'unknown' ? null : gate.memory.bodyOf(identified.agent)
  let sending: { readonly release: () => Release | null } | null = null
  try {
    const body =
      room === null ? leftUnread(req) : await readWhole(head, incoming, options.limits.body, room)
    // What is left of an unread body would be read as the next request's head.
    if (body.kind !== 'read') res.shouldKeepAlive = false
    const { upstreams } = options
    const { holdLimit, stallMs } = options.limits
    const relayed = relay(
      (rule, headers) => {
        const { holdAll, wantsTrailers } = clientTerms(req, rule.hold_response)
        const terms = { holdLimit, stallMs, holdAll, wantsTrailers }
        return releaseTo(res, terms, gate.memory, headers)
      },
      { upstreams, signal: cutOff },
    )
    sending = relayed
    const asked = withBody(head, body)
    // Of an unknown caller nothing is read, whatever it asks for.
    const call = identified.kind === 'known' ? unwrapped(asked) : asked
    const answer = await gate.govern(call, relayed.dispatch, identified)
    respond(answer, res, relayed.release(), restOf(body))
  } finally {
    room?.giveBack()
    sending?.release()?.over()
  }
}
