import type { Framing, Observation } from '../../core/capsule/observation.js'
import type { Connection } from './connection.js'
import { ResponseBody } from './response-body.js'
import type { BodyFraming, ResponseHead } from './response-head.js'
import { ResponseReader } from './response-reader.js'
import { guarded, type ResponseSink } from './sink.js'
import { mayBeJson, type WitnessRule, witness } from './witness.js'

/**
 * One request and its one response on one connection. Classed by phase (first byte written, request
 * handed over, head seen, end seen), never by error code (DESIGN §3).
 */
export type Order = {
  readonly method: string
  readonly head: string
  readonly body: Uint8Array
  readonly rule: WitnessRule & { readonly close_delimited: 'refuse' | 'accept' }
  readonly firstByteMs: number
  /** What is left of the total deadline. */
  readonly totalMs: number
  readonly holdLimit: number
  readonly sink: ResponseSink
  readonly stillAllowed: () => boolean
  readonly signal: AbortSignal | undefined
}
export type Exchanged = {
  readonly observation: Observation
  /** How long the connection may rest for another call; 0 after any anomaly. */
  readonly restMs: number
}

const FRAMING: Readonly<Record<BodyFraming['kind'], Framing>> = {
  content_length: 'content_length',
  chunked: 'chunked',
  bodyless: 'bodyless',
  close: 'close_delimited_accepted',
}
/** Below this, head and body leave in one buffer and mostly in one packet. */
const ONE_WRITE = 64 * 1024

export function exchange(connection: Connection, order: Order): Promise<Exchanged> {
  const { socket } = connection
  const { rule, signal } = order
  const eventStream = order.sink.closedEventStream
  return new Promise((resolve) => {
    let concluded = false
    let handedOver = false
    let head: ResponseHead | null = null
    let body: ResponseBody | null = null
    let timer: NodeJS.Timeout | null = null
    const started = performance.now()

    const conclude = (exchanged: Exchanged): void => {
      concluded = true
      if (timer !== null) clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      eventStream?.removeEventListener('abort', onStreamClosed)
      if (exchanged.restMs === 0) connection.discard()
      else connection.detach()
      resolve(exchanged)
    }
    const cut = (cause: string, deadline = false): void => {
      if (concluded) return
      const partial = body?.seal()
      conclude({
        restMs: 0,
        observation: {
          kind: 'sent',
          cause,
          deadline,
          ...(head === null ? {} : { status: head.status }),
          ...(partial === undefined
            ? {}
            : { partial: { digest: partial.digest, length: partial.length } }),
        },
      })
    }
    const notSent = (cause: string): void =>
      conclude({ restMs: 0, observation: { kind: 'not_sent', cause, deadline: false } })

    const onAbort = (): void => cut('aborted')
    const onStreamClosed = (): void => cut('event_stream_closed')

    const sink = guarded(order.sink, {
      pause: () => socket.pause(),
      resume: () => {
        if (!concluded) socket.resume()
      },
    })
    const reader = new ResponseReader(order.method, {
      informational: sink.informational,
      head(seen) {
        head = seen
        // DESIGN §2.3: an answer to a request that had not wholly left is an answer to something else.
        if (!handedOver) {
          cut('early_answer')
          return false
        }
        body = new ResponseBody({
          salt: rule.digest_salt,
          hold: mayBeJson(seen) ? order.holdLimit : 0,
        })
        sink.head(seen.status, seen.headers, seen.framing.kind)
        return !concluded
      },
      data(piece) {
        if (concluded) return
        body?.push(piece)
        sink.data(piece)
      },
      trailers(headers) {
        if (!concluded) sink.trailers(headers)
      },
      end() {
        if (concluded || head === null || body === null) return
        if (head.framing.kind === 'close') {
          if (rule.close_delimited === 'refuse') return cut('close_delimited')
          // Whether close_notify came, or only someone's FIN, cannot be learnt from Node's TLS.
          if (connection.tls) return cut('close_delimited_over_tls')
        }
        const observation = witness(head, FRAMING[head.framing.kind], body.seal(), rule)
        conclude({ observation, restMs: head.keepAliveMs })
      },
      fault: (fault) => cut(fault),
    })

    const onTotal = (): void => cut('total_deadline', true)
    const onFirstByte = (): void => cut('first_byte_deadline', true)
    const left = (): number => Math.max(1, Math.ceil(order.totalMs - (performance.now() - started)))
    // TLS tells of a finished write one turn late, when the answer to it may already have come.
    const afterThisTurn = (chunk: Buffer): void => {
      socket.pause()
      setImmediate(() => {
        if (concluded) return
        socket.resume()
        reader.feed(chunk)
      })
    }
    let silent = true
    connection.attach({
      bytes(chunk) {
        if (silent) {
          silent = false
          if (timer !== null) clearTimeout(timer)
          timer = setTimeout(onTotal, left())
        }
        if (handedOver || !connection.tls) reader.feed(chunk)
        else afterThisTurn(chunk)
      },
      closed: () => reader.closed(),
      broken: () => reader.broken(),
    })

    if (signal?.aborted === true) return notSent('aborted')
    if (eventStream?.aborted === true) return notSent('event_stream_closed')
    if (!connection.usable) return notSent('not_quiet')
    if (!allowed(order.stillAllowed)) return notSent('withdrawn')
    signal?.addEventListener('abort', onAbort, { once: true })
    eventStream?.addEventListener('abort', onStreamClosed, { once: true })
    timer =
      order.firstByteMs < order.totalMs
        ? setTimeout(onFirstByte, Math.max(1, order.firstByteMs))
        : setTimeout(onTotal, left())
    send(connection, order, () => {
      handedOver = true
    })
  })
}

/** A check that throws has not said yes. */
function allowed(stillAllowed: () => boolean): boolean {
  try {
    return stillAllowed() === true
  } catch {
    return false
  }
}

/** From here on the request counts as sent. `handedOver` runs when the kernel has taken all of it. */
function send({ socket }: Connection, { head, body }: Order, handedOver: () => void): void {
  const done = (error?: Error | null): void => {
    if (error === undefined || error === null) handedOver()
  }
  if (body.length === 0) {
    socket.write(head, 'latin1', done)
  } else if (head.length + body.length <= ONE_WRITE) {
    const all = Buffer.allocUnsafe(head.length + body.length)
    all.write(head, 'latin1')
    all.set(body, head.length)
    socket.write(all, done)
  } else {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body, done)
    socket.uncork()
  }
}
