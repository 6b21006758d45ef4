import type { Header } from '../../core/call/call.js'
import type { Observation } from '../../core/capsule/observation.js'
import { mayBeJson, type ResponseHead } from '../../core/http/response.js'
import { ResponseBody } from '../../core/http/response-body.js'
import { cutShort, witness } from '../../core/http/witness.js'
import { allowed, notSent } from '../../ports/dispatch.js'
import type {
  DispatchControl,
  DispatchRule,
  OutgoingRequest,
  ResponseSink,
} from '../../ports/upstream.js'
import type { Connection, Listener } from './connection.js'
import type { Fault } from './fault.js'
import { nodeHashing } from './hashing.js'
import { type ReaderEvents, ResponseReader } from './response-reader.js'
import { GuardedSink } from './sink.js'

/**
 * One request and its one response on one connection. Classed by phase (first byte written, request
 * handed over, head seen, end seen), never by error code (DESIGN §3).
 */
export type Order = DispatchControl & {
  readonly request: OutgoingRequest
  readonly head: string
  readonly rule: DispatchRule
  /** What is left of the total deadline. */
  readonly totalMs: number
  readonly holdLimit: number
  readonly sink: ResponseSink
}
type Exchanged = {
  readonly observation: Observation
  /** How long the connection may rest for another call; 0 after any anomaly. */
  readonly restMs: number
}

/** The longest that a timer can sleep: the deadline of a stream without one is Infinity. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1
/** Below this, head and body leave in one buffer and mostly in one packet. */
const ONE_WRITE = 64 * 1024

export const exchange = (connection: Connection, order: Order): Promise<Exchanged> =>
  new Promise((resolve) => new Exchange(connection, order, resolve).begin())

/** What the connection, the reader, the sink and the deadlines say, on one object: one per call. */
class Exchange implements Listener, ReaderEvents {
  readonly #connection: Connection
  readonly #order: Order
  readonly #resolve: (exchanged: Exchanged) => void
  readonly #sink: GuardedSink
  readonly #reader: ResponseReader
  readonly #started = performance.now()
  #concluded = false
  #handedOver = false
  #silent = true
  #head: ResponseHead | null = null
  #body: ResponseBody | null = null
  #timer: NodeJS.Timeout | null = null
  readonly #watched = new Map<AbortSignal, () => void>()

  constructor(connection: Connection, order: Order, resolve: (exchanged: Exchanged) => void) {
    this.#connection = connection
    this.#order = order
    this.#resolve = resolve
    this.#sink = new GuardedSink(order.sink, this)
    this.#reader = new ResponseReader(order.request.method, this)
  }

  begin(): void {
    const { signal } = this.#order
    this.#connection.attach(this)
    const obstacle = this.#obstacle()
    if (obstacle !== null) {
      this.#conclude({ restMs: 0, observation: notSent(obstacle) })
      return
    }
    if (signal !== undefined) this.#cutOnAbort(signal, 'aborted')
    this.#watchReader()
    const { rule, totalMs } = this.#order
    const { first_byte_ms } = rule.deadlines
    this.#wakeIn(first_byte_ms < totalMs ? first_byte_ms : this.#left())
    this.#send()
  }

  /** Why not one byte may leave. */
  #obstacle(): string | null {
    const { signal, sink, stillAllowed } = this.#order
    if (signal?.aborted === true) return 'aborted'
    if (sink.closedEventStream?.aborted === true) return 'event_stream_closed'
    if (!this.#connection.usable) return 'not_quiet'
    return allowed(stillAllowed) ? null : 'withdrawn'
  }

  /** From here on the request counts as sent; handed over when the kernel has taken all of it. */
  #send(): void {
    const { socket } = this.#connection
    const order = this.#order
    const { head, request } = order
    const { body } = request
    const done = (error?: Error | null): void => {
      if (error === undefined || error === null) this.#handedOver = true
    }
    if (body.length === 0) {
      order.wrote?.(head, body)
      socket.write(head, 'latin1', done)
    } else if (head.length + body.length <= ONE_WRITE) {
      const all = Buffer.allocUnsafe(head.length + body.length)
      all.write(head, 0, 'latin1')
      all.set(body, head.length)
      order.wrote?.(head, all.subarray(head.length))
      socket.write(all, done)
    } else {
      order.wrote?.(head, body)
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body, done)
      socket.uncork()
    }
  }

  // ── The connection ─────────────────────────────────────────────────────────
  bytes(chunk: Buffer): void {
    this.#silent = false
    if (this.#handedOver || !this.#connection.tls) this.#reader.feed(chunk)
    else this.#afterThisTurn(chunk)
  }

  closed(): void {
    this.#reader.closed()
  }

  broken(): void {
    this.#reader.broken()
  }

  /** TLS tells of a finished write one turn late, when the answer to it may already have come. */
  #afterThisTurn(chunk: Buffer): void {
    this.pause()
    setImmediate(() => {
      if (this.#concluded) return
      this.resume()
      this.#reader.feed(chunk)
    })
  }

  // ── The sink ───────────────────────────────────────────────────────────────
  pause(): void {
    this.#connection.socket.pause()
  }

  resume(): void {
    if (!this.#concluded) this.#connection.socket.resume()
  }

  // ── The reader ─────────────────────────────────────────────────────────────
  informational(status: number, headers: readonly Header[]): void {
    this.#sink.informational(status, headers)
  }

  head(seen: ResponseHead): boolean {
    const { rule, holdLimit } = this.#order
    this.#head = seen
    // DESIGN §2.3: an answer to a request that had not wholly left is an answer to something else.
    if (!this.#handedOver) {
      this.#cut('early_answer')
      return false
    }
    this.#body = new ResponseBody({
      hashing: nodeHashing,
      salted: rule.saltedDigest,
      hold: mayBeJson(seen.contentType, seen.contentEncoding) ? holdLimit : 0,
      declared: seen.framing.kind === 'content_length' ? seen.framing.length : null,
    })
    this.#sink.head(seen.status, seen.headers, seen.framing)
    this.#watchReader()
    return !this.#concluded
  }

  data(piece: Buffer): void {
    if (this.#concluded) return
    this.#body?.push(piece)
    this.#sink.data(piece)
  }

  trailers(headers: readonly Header[]): void {
    if (!this.#concluded) this.#sink.trailers(headers)
  }

  end(): void {
    const head = this.#head
    const body = this.#body
    const { rule } = this.#order
    if (this.#concluded || head === null || body === null) return
    const doubt = head.framing.kind === 'close' ? this.#doubtfulClose() : null
    if (doubt !== null) {
      this.#cut(doubt)
      return
    }
    const { kind } = head.framing
    const framing = kind === 'close' ? 'close_delimited_accepted' : kind
    const observation = witness(head, framing, body.finish(), rule, nodeHashing)
    this.#conclude({ observation, restMs: head.keepAliveMs })
  }

  #doubtfulClose(): string | null {
    if (this.#order.rule.close_delimited === 'refuse') return 'close_delimited'
    // Whether close_notify came, or only a FIN, cannot be learnt from Node's TLS.
    return this.#connection.tls ? 'close_delimited_over_tls' : null
  }

  fault(fault: Fault): void {
    this.#cut(fault)
  }

  // ── Cuts ───────────────────────────────────────────────────────────────────
  /** Only event streams have a signal to watch. */
  #watchReader(): void {
    const signal = this.#order.sink.closedEventStream
    if (signal !== undefined) this.#cutOnAbort(signal, 'event_stream_closed')
  }

  #cutOnAbort(signal: AbortSignal, cause: string): void {
    if (this.#watched.has(signal) || this.#concluded) return
    const cut = (): void => this.#cut(cause)
    this.#watched.set(signal, cut)
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut, { once: true })
  }

  /**
   * One timer: the first byte only moves the deadline, and a timer that comes too early for it sleeps
   * on. Most calls end before either.
   */
  #wakeIn(ms: number): void {
    this.#timer = setTimeout(() => this.#woken(), Math.min(LONGEST_SLEEP_MS, Math.max(1, ms)))
  }

  #woken(): void {
    const { rule, totalMs } = this.#order
    const left = this.#left()
    if (this.#silent && rule.deadlines.first_byte_ms < totalMs)
      this.#cut('first_byte_deadline', true)
    else if (left > 0) this.#wakeIn(left)
    else this.#cut('total_deadline', true)
  }

  #left(): number {
    return Math.ceil(this.#order.totalMs - (performance.now() - this.#started))
  }

  #cut(cause: string, deadline = false): void {
    if (this.#concluded) return
    this.#conclude({ restMs: 0, observation: cutShort(cause, deadline, this.#head, this.#body) })
  }

  #conclude(exchanged: Exchanged): void {
    this.#concluded = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const [signal, cut] of this.#watched) signal.removeEventListener('abort', cut)
    if (exchanged.restMs === 0) this.#connection.discard()
    else this.#connection.detach()
    this.#resolve(exchanged)
  }
}
