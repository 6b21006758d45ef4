import { destinationOf } from '../../core/call/parts.js'
import type { BackgroundDispatch } from '../../gate/approval/run-approved.js'
import { Release } from '../http/hold-and-release.js'
import { holdFor } from '../http/hold-terms.js'
import { NOWHERE } from '../http/outlet.js'
import { relay } from '../http/relay.js'
import type { ProxyOptions } from './options.js'

/** `on_approval: dispatch`: the same way to the upstream, without a client at the other end. */
export const backgroundDispatch =
  ({ upstreams, gate, limits }: ProxyOptions, signal: AbortSignal): BackgroundDispatch =>
  (call) => {
    const upstream = destinationOf(call)
    if (upstream === null || !upstreams.has(upstream)) return null
    const { dispatch, release } = relay(
      ({ hold_response: holdAll }, headers) => {
        const hold = holdFor({ holdLimit: limits.holdLimit, holdAll }, gate.memory)
        // Sent all the same, its result would be lost: there is no client to stream it to.
        if (hold === null || hold.room === null) return null
        return new Release(NOWHERE, { ...hold, beyond: 'drop' }, headers)
      },
      { upstreams, signal },
    )
    return (order) => dispatch(order).finally(() => release()?.over())
  }
