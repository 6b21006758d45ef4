import type { ServerResponse } from 'node:http'
import { type ClientTerms, drained, GATE_TRAILERS, whenOut } from '../http/client.js'
import type { Outlet } from '../http/outlet.js'
import { gateHeaders, pairs } from '../http/response-headers.js'

/** Node's own view of a response, which has no public setter. */
export type Held = ServerResponse & {
  _header: string | null
  _headerSent: boolean
  _trailer: string
  finished: boolean
}

/** The way out for a handler's answer, whose head stands on the response itself. */
export function handlerOutlet(
  res: Held,
  { wantsTrailers, stallMs }: ClientTerms,
  /** Runs what goes to the response itself instead of back to the interceptor. */
  real: <T>(act: () => T) => T,
  /** The handler's own words for the status. */
  reason: () => string | undefined,
): Outlet & {
  /** Nothing is read any more: a handler that waits for 'drain' goes on writing for the record alone. */
  wake(): void
} {
  let draining: Promise<void> | null = null
  const wake = (): void => {
    if (draining !== null) res.emit('drain')
  }
  const giveUp = (): void => {
    // With an error, so that it does not look like a handler's own doing.
    real(() => res.destroy(new Error('the client takes nothing')))
    wake()
  }
  /** Status and reason are plain members: a handler may have gone on setting them. */
  const fixHead = (status: number): void => {
    const words = reason()
    res._header = null
    res.statusCode = status
    if (words === undefined) Reflect.deleteProperty(res, 'statusMessage')
    else res.statusMessage = words
  }
  return {
    wake,
    gone: () => res.destroyed || res.closed,
    whole({ status, framing }, body, { recorded }) {
      fixHead(status)
      for (const [name, value] of gateHeaders(recorded)) res.setHeader(name, value)
      if (framing.kind === 'bodyless') res.end()
      else res.end(body)
    },
    start({ status, framing }, events) {
      real(() => {
        fixHead(status)
        if (framing.kind !== 'content_length' && wantsTrailers) {
          res.setHeader('trailer', GATE_TRAILERS)
        }
        res.writeHead(status)
        if (events) res.flushHeaders()
      })
    },
    write(octets) {
      if (real(() => res.write(octets))) return undefined
      draining ??= drained(res, stallMs, giveUp, () => {
        draining = null
      })
      return draining
    },
    end({ framing }, last, { recorded }) {
      if (framing.kind !== 'content_length' && wantsTrailers) {
        const theirs = res._trailer
        res.addTrailers(pairs(gateHeaders(recorded)))
        res._trailer = `${theirs}${res._trailer}`
      }
      res.end(last)
    },
    cut: () => res.destroy(),
    // The interceptor sees a client leave before the response tells of it.
    whenLeft: () => undefined,
    whenOut: (size, tell) => whenOut(res, size, tell),
  }
}
