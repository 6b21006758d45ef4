import { destinationOf } from '../../core/call/address.js'
import type { Header } from '../../core/call/call.js'
import { utf8 } from '../../core/text.js'
import type { BackgroundDispatch } from '../../gate/approve-dispatch.js'
import type { Held } from '../../gate/memory.js'
import type { ProxyOptions } from './options.js'
import { relay } from './relay.js'
import type { Release } from './release.js'
import { clientHeaders } from './response-headers.js'

/** `on_approval: dispatch`: the same way to the upstream, with nobody at the other end. */
export const backgroundDispatch =
  ({ upstreams, gate, limits }: ProxyOptions, signal: AbortSignal): BackgroundDispatch =>
  (call) => {
    const upstream = destinationOf(call)
    if (upstream === null || !upstreams.has(upstream)) return null
    let opened: Release | null = null
    const { dispatch } = relay(
      ({ request, origin, rule }) => {
        const room = gate.memory.hold(limits.holdLimit)
        // Sent all the same, its result would be lost: there is nobody to stream it to.
        if (room === null) return null
        opened = keep(limits.holdLimit, room, (headers) =>
          clientHeaders(headers, request.target, origin, rule.response_location),
        )
        return opened
      },
      { upstreams, tenantSalt: utf8(gate.parts.tenantSalt), signal },
    )
    return (order) => dispatch(order).finally(() => opened?.over())
  }

/** Holds the answer for collection, up to the hold limit; what is longer is observed and let go. */
function keep(
  limit: number,
  room: Held,
  shown: (headers: readonly Header[]) => readonly Header[],
): Release {
  let head: { readonly status: number; readonly headers: readonly Header[] } | null = null
  let pieces: Uint8Array[] | null = []
  let size = 0
  return {
    started: () => false,
    held: () =>
      head === null || pieces === null ? null : { ...head, body: Buffer.concat(pieces) },
    complete: () => undefined,
    cut: () => undefined,
    over: () => room.letGo(),
    sink: {
      head(status, headers) {
        head = { status, headers: shown(headers) }
        return undefined
      },
      data(chunk) {
        size += chunk.length
        if (size > limit) pieces = null
        pieces?.push(chunk)
        return undefined
      },
      trailers: () => undefined,
    },
  }
}
