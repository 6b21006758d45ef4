import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Malformed } from '../../core/call/malformed.js'
import type { BodyReading } from '../http/read-body.js'
import { hangUp } from './client-error.js'

/**
 * Requests of one connection are taken one after the other: pipelined calls have effects, and their
 * order is the caller's (RFC 9112 §9.3.2). What a parser says about later bytes waits for its turn.
 */
export type Connections = {
  /** `res` says whether the connection goes on behind this exchange; without one it does not matter. */
  take(socket: Duplex, res: ServerResponse | null, exchange: (lane: Lane) => Promise<void>): void
  /** The parser gave up; the request being read is told, an idle connection gets `refuse`. */
  broken(socket: Duplex, fault: Malformed, refuse: () => void): void
  /** Exchanges under way. */
  readonly active: () => number
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>
}
export type Lane = {
  reading: Pick<BodyReading, 'fail'> | null
  waiting: number
  tail: Promise<void>
  /** A request or its answer said that it is the last: what came behind it is not served (RFC 9112 §9.6). */
  over: boolean
}

const MAX_PIPELINED = 64

export function trackConnections(): Connections {
  const lanes = new WeakMap<Duplex, Lane>()
  const watchers: (() => void)[] = []
  let active = 0

  const laneOf = (socket: Duplex): Lane => {
    const known = lanes.get(socket)
    if (known !== undefined) return known
    const fresh: Lane = {
      reading: null,
      waiting: 0,
      tail: Promise.resolve(),
      over: false,
    }
    lanes.set(socket, fresh)
    return fresh
  }
  const run = async (
    lane: Lane,
    res: ServerResponse | null,
    exchange: (lane: Lane) => Promise<void>,
  ): Promise<void> => {
    try {
      if (!lane.over) await exchange(lane)
    } finally {
      if (res?.shouldKeepAlive === false) lane.over = true
      lane.waiting--
      active--
      if (active === 0) for (const tell of watchers.splice(0)) tell()
    }
  }

  return {
    take(socket, res, exchange) {
      const lane = laneOf(socket)
      if (lane.waiting >= MAX_PIPELINED) {
        socket.destroy()
        return
      }
      active++
      lane.waiting++
      lane.tail =
        lane.waiting === 1
          ? run(lane, res, exchange)
          : lane.tail.then(() => run(lane, res, exchange))
    },
    broken(socket, fault, refuse) {
      const lane = laneOf(socket)
      if (lane.reading?.fail(fault) === true) return
      if (lane.waiting > 0) void lane.tail.then(() => hangUp(socket))
      else refuse()
    },
    active: () => active,
    idle: () =>
      active === 0 ? Promise.resolve() : new Promise((resolve) => watchers.push(resolve)),
  }
}
