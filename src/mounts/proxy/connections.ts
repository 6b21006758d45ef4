import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Malformed } from '../../core/call/malformed.js'
import type { BodyReading } from '../http/read-body.js'

export type Queue = {
  reading: Pick<BodyReading, 'fail'> | null
  waiting: number
  tail: Promise<void>
  /** A request or its answer said that it is the last: what came behind it is not served (RFC 9112 §9.6). */
  over: boolean
}

const MAX_PIPELINED = 64

/**
 * Requests of one connection are taken one after the other: pipelined calls have effects, and their
 * order is the caller's (RFC 9112 §9.3.2). What a parser says about later bytes waits for its turn.
 */
export function trackConnections() {
  const queues = new WeakMap<Duplex, Queue>()
  const watchers: (() => void)[] = []
  let active = 0

  const queueOf = (socket: Duplex): Queue => {
    const known = queues.get(socket)
    if (known !== undefined) return known
    const fresh: Queue = { reading: null, waiting: 0, tail: Promise.resolve(), over: false }
    queues.set(socket, fresh)
    return fresh
  }
  type Run = (queue: Queue) => Promise<void>
  const run = async (queue: Queue, res: ServerResponse | null, exchange: Run): Promise<void> => {
    try {
      if (!queue.over) await exchange(queue)
    } finally {
      if (res?.shouldKeepAlive === false) queue.over = true
      queue.waiting--
      active--
      if (active === 0) for (const tell of watchers.splice(0)) tell()
    }
  }

  return {
    /** `res` says whether the connection goes on behind this exchange; without one it does not matter. */
    take(socket: Duplex, res: ServerResponse | null, exchange: Run): void {
      const queue = queueOf(socket)
      if (queue.waiting >= MAX_PIPELINED) {
        socket.destroy()
        return
      }
      active++
      queue.waiting++
      queue.tail =
        queue.waiting === 1
          ? run(queue, res, exchange)
          : queue.tail.then(() => run(queue, res, exchange))
    },
    /** The parser gave up: the request being read is refused for it, an idle connection gets `refuse`. */
    broken(socket: Duplex, fault: Malformed, refuse: () => void): void {
      const queue = queueOf(socket)
      if (queue.reading?.fail(fault) === true) return
      if (queue.waiting > 0) void queue.tail.then(() => hangUp(socket))
      else refuse()
    },
    active: (): number => active,
    /** Resolves when nothing is under way any more. */
    idle: (): Promise<void> =>
      active === 0 ? Promise.resolve() : new Promise((resolve) => watchers.push(resolve)),
  }
}

/** Bytes that never became a request are counted and answered without a capsule (DESIGN §2.1). */
export function refuseBytes({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  const status = STATUS[code ?? ''] ?? 400
  const reason = STATUS_CODES[status] ?? ''
  socket.write(`HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  hangUp(socket)
}

/** What was written goes out first, and a peer that still sends has a moment to read it. */
export function hangUp(socket: Duplex): void {
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

const LINGER_MS = 1_000
const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}
