import type { ServerResponse } from 'node:http'
import type { Held as Room } from '../../gate/memory.js'
import { type HoldTerms, MAX_HELD } from '../proxy/hold.js'
import { gateHeaders, type Recorded } from '../proxy/response-headers.js'
import type { HandlerHead } from './head.js'

/**
 * Lets a handler's answer out (DESIGN §3 "Release"): held whole up to the limit, beyond it and for event
 * streams passed on at once but for the end, which waits for the capsule.
 */
export type Outlet = {
  open(head: HandlerHead): void
  /** False: whoever writes should wait for 'drain', as on any stream. */
  take(octets: Buffer): boolean
  readonly started: () => boolean
  /** The whole body, when it was kept. */
  readonly held: () => Uint8Array | null
  /** Nobody reads any more; whoever waits for 'drain' goes on writing for the record alone. */
  left(): void
  finish(recorded: Recorded): void
}
export type OutletOptions = HoldTerms & {
  /** Memory set aside for what is held. */
  readonly room: Room | null
  readonly wantsTrailers: boolean
  /** A client that takes nothing for this long is gone; the observing goes on without it. */
  readonly stallMs: number
}
/** Node's own view of a response, which has no public setter. */
export type Held = ServerResponse & {
  _header: string | null
  _headerSent: boolean
  _trailer: string
  finished: boolean
}

export function createOutlet(
  res: Held,
  options: OutletOptions,
  /** Runs what goes to the response itself instead of back to the interceptor. */
  real: <T>(act: () => T) => T,
): Outlet {
  let state: 'holding' | 'streaming' | 'dropped' = 'holding'
  let status = 200
  let reason: string | undefined
  let declared: number | null = null
  let bodyless = false
  let events = false
  let pieces: Buffer[] = []
  let size = 0
  let lastOctet: Uint8Array | null = null
  let stall: NodeJS.Timeout | null = null

  const gone = (): boolean => res.destroyed || res.closed
  const unstall = (): void => {
    if (stall !== null) clearTimeout(stall)
    stall = null
  }
  const wakeWriter = (): void => {
    const waiting = stall !== null
    unstall()
    if (waiting) res.emit('drain')
  }
  res.on('drain', unstall)

  const forward = (octets: Buffer): boolean => {
    size += octets.length
    let now: Uint8Array = octets
    if (declared !== null && size >= declared) {
      // What is beyond the declared length never goes out; the interceptor records the mismatch.
      const fits = octets.subarray(0, Math.max(0, octets.length - (size - declared)))
      if (fits.length > 0) lastOctet = fits.subarray(-1)
      now = fits.subarray(0, -1)
    }
    if (gone() || now.length === 0) return true
    const ok = real(() => res.write(now))
    if (!ok && stall === null) {
      stall = setTimeout(() => {
        // With an error, so that it does not look like a handler's own doing.
        real(() => res.destroy(new Error('the client takes nothing')))
        wakeWriter()
      }, options.stallMs)
    }
    return ok
  }

  /** Status and reason are plain members: a handler may have gone on setting them. */
  const fixHead = (): void => {
    res._header = null
    res.statusCode = status
    if (reason === undefined) Reflect.deleteProperty(res, 'statusMessage')
    else res.statusMessage = reason
  }

  const stream = (): boolean => {
    state = 'streaming'
    if (!gone()) {
      real(() => {
        fixHead()
        const announced = declared === null && options.wantsTrailers
        if (announced) res.setHeader('trailer', 'Gate-Verdict, Gate-Action, Gate-Capsule')
        res.writeHead(status)
        if (events) res.flushHeaders()
      })
    }
    const kept = pieces
    pieces = []
    size = 0
    options.room?.letGo()
    return kept.map(forward).every((ok) => ok)
  }

  return {
    open(head) {
      status = head.status
      reason = res.statusMessage
      declared = head.declared
      bodyless = head.bodyless
      events = head.events
      if (bodyless) options.room?.letGo()
      else if (declared !== null) options.room?.shrinkTo(declared)
      const large = (declared ?? 0) > options.holdLimit
      if (!bodyless && !options.holdAll && (events || large)) stream()
    },
    take(octets) {
      if (state === 'streaming') return forward(octets)
      if (bodyless || state === 'dropped') return true
      pieces.push(octets)
      size += octets.length
      if (size <= options.holdLimit) return true
      if (!options.holdAll) return stream()
      if (size > MAX_HELD) {
        state = 'dropped'
        pieces = []
        options.room?.letGo()
      }
      return true
    },
    started: () => state === 'streaming',
    held: () => (state === 'holding' ? Buffer.concat(pieces, size) : null),
    left: wakeWriter,
    finish(recorded) {
      unstall()
      res.off('drain', unstall)
      if (gone()) return
      if (state === 'dropped') {
        res.destroy()
        return
      }
      const gateFields = gateHeaders(recorded)
      if (state === 'holding') {
        fixHead()
        for (const [name, value] of gateFields) res.setHeader(name, value)
        if (bodyless) res.end()
        else res.end(Buffer.concat(pieces, size))
        return
      }
      if (declared === null && options.wantsTrailers) {
        const theirs = res._trailer
        res.addTrailers(gateFields.map(([name, value]): [string, string] => [name, value]))
        res._trailer = `${theirs}${res._trailer}`
      }
      res.end(lastOctet ?? undefined)
    },
  }
}
