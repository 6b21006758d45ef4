import { destinationOf } from '../../core/call/parts.js'
import type { BackgroundDispatch } from '../../gate/approval/run-approved.js'
import { holdFor } from '../http/hold.js'
import { createRelease } from '../http/machine.js'
import { NOWHERE } from '../http/outlet.js'
import { relay } from '../http/relay.js'
import { clientHeaders } from '../http/response-headers.js'
import type { ProxyOptions } from './options.js'

/** `on_approval: dispatch`: the same way to the upstream, with nobody at the other end. */
export const backgroundDispatch =
  ({ upstreams, gate, limits }: ProxyOptions, signal: AbortSignal): BackgroundDispatch =>
  (call) => {
    const upstream = destinationOf(call)
    if (upstream === null || !upstreams.has(upstream)) return null
    const { dispatch, release } = relay(
      ({ request, origin, rule }) => {
        const terms = { holdLimit: limits.holdLimit, holdAll: rule.hold_response }
        const hold = holdFor(terms, gate.memory)
        // Sent all the same, its result would be lost: there is no client to stream it to.
        if (hold === null || hold.room === null) return null
        return createRelease(NOWHERE, { ...hold, beyond: 'drop' }, (headers) =>
          clientHeaders(headers, request.target, origin, rule.response_location),
        )
      },
      { upstreams, signal },
    )
    return (order) => dispatch(order).finally(() => release()?.over())
  }
