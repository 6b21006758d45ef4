import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Observation } from '../../core/capsule/observation.js'
import { mayBeJson } from '../../core/http/response.js'
import { type BodyOptions, type FinishedBody, ResponseBody } from '../../core/http/response-body.js'
import { cutShort } from '../../core/http/witness.js'
import type { HeldResponse } from '../../ports/dispatch.js'
import type { ClientTerms } from '../http/client-outlet.js'
import { Release } from '../http/hold-and-release.js'
import type { Hold } from '../http/hold-terms.js'
import type { Recorded } from '../http/response-headers.js'
import { guardSocket } from './guard-socket.js'
import { applyWriteHead, type HandlerHead, readHandlerHead } from './head.js'
import { type Bypass, HandlerOutlet, type Held } from './outlet.js'

export type Intercepted = ReturnType<typeof intercept>
export type HandlerEnd =
  | {
      readonly kind: 'ended'
      readonly head: HandlerHead
      readonly body: FinishedBody
      readonly held: HeldResponse | null
    }
  | Extract<Observation, { kind: 'sent' }>
export type InterceptOptions = ClientTerms &
  Pick<BodyOptions, 'hashing' | 'salted'> & {
    readonly hold: Hold
    /** A longer JSON body is recorded by its octets alone. */
    readonly jsonLimit: number
    /** The handler tried to answer again: the first answer stands. */
    readonly answeredTwice: () => void
  }

/** Stands where Node keeps a sent head, so that `headersSent` and `setHeader` behave as if it had gone. */
const KEPT_BACK = 'kept back by the gate'
const WATCHED = ['write', 'end', 'writeHead', 'flushHeaders', 'destroy', 'emit'] as const
type Watched = (typeof WATCHED)[number]
/** They send a message of their own, which is no answer. */
const INFORMATIONAL = ['writeContinue', 'writeProcessing', 'writeEarlyHints'] as const
const MUTED = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader', 'addTrailers'] as const

/**
 * The response interceptor: between a handler and its response it sees every octet the handler writes,
 * however it writes them, and keeps the end back until the capsule is durable (DESIGN §2.1, §2.3).
 */
export function intercept(
  req: IncomingMessage,
  response: ServerResponse,
  options: InterceptOptions,
) {
  const res = response as Held
  const before = { status: res.statusCode, headers: Object.entries(res.getHeaders()) }
  const theirs = new Map<string, PropertyDescriptor | undefined>()
  const replace = (name: string, value: unknown): void => {
    if (!theirs.has(name)) theirs.set(name, Object.getOwnPropertyDescriptor(res, name))
    Object.defineProperty(res, name, { value, configurable: true, writable: true })
  }
  const original = new Map(WATCHED.map((name) => [name, Reflect.get(res, name) as () => unknown]))
  const call = (name: Watched, args: readonly unknown[]): unknown =>
    Reflect.apply(original.get(name) as () => unknown, res, args)

  let phase: 'observing' | 'ended' | 'over' = 'observing'
  let passing = 0
  let flushing = false
  let unguard = (): void => undefined
  let head: HandlerHead | null = null
  let body: ResponseBody | null = null
  let length = 0
  let closed = false
  let twice = false
  let settle: (end: HandlerEnd) => void = () => undefined
  const over = new Promise<HandlerEnd>((resolve) => {
    settle = resolve
  })
  const bypass: Bypass = (act) => {
    passing++
    try {
      return act()
    } finally {
      passing--
    }
  }
  const outlet = new HandlerOutlet(res, options, bypass, () => head?.reason)
  const release = new Release(outlet, options.hold, (headers) => headers)

  const conclude = (end: HandlerEnd): void => {
    phase = 'ended'
    res.finished = true
    for (const name of MUTED) if (name in res) replace(name, tooLate)
    settle(end)
  }
  const broken = (cause: string, deadline = false): void => {
    if (phase !== 'observing') return
    conclude(cutShort(cause, deadline, head, body))
  }
  /** Written with the prototype's own methods or on the socket: that would not have been seen here. */
  const aroundTheGate = (): void => {
    broken('answered_around_the_gate')
    call('destroy', [])
  }
  const tooLate = (): ServerResponse => {
    if (!twice) options.answeredTwice()
    twice = true
    return res
  }
  const makeHead = (): ResponseBody => {
    head = readHandlerHead(req, res)
    const { hashing, salted, jsonLimit } = options
    const hold = mayBeJson(head.contentType, head.contentEncoding) ? jsonLimit : 0
    body = new ResponseBody({ hashing, salted, hold, declared: null })
    res._header = KEPT_BACK
    void release.head(head.status, head.headers, head.framing)
    return body
  }
  /** As Node does: an implied head goes through `writeHead`, where hooks behind the gate wait for it. */
  const openHead = (): ResponseBody => {
    if (body === null) res.writeHead(res.statusCode)
    return body ?? makeHead()
  }
  const take = (octets: Buffer): boolean => {
    const into = openHead()
    if (head === null || head.framing.kind === 'bodyless' || octets.length === 0) return true
    into.push(octets)
    length += octets.length
    return release.data(octets) === undefined
  }
  const finish = (): void => {
    const whole = openHead()
    if (head === null || phase !== 'observing') return
    const { framing } = head
    if (head.status < 200) broken('informational_end')
    else if (res._headerSent && !release.started()) aroundTheGate()
    else if (framing.kind === 'content_length' && framing.length !== length) {
      broken('length_mismatch')
    } else conclude({ kind: 'ended', head, body: whole.finish(), held: release.held() })
  }

  const mine = (): boolean => phase !== 'over' && passing === 0
  const handlers: Record<Watched, (...args: unknown[]) => unknown> = {
    write(...args) {
      if (!mine()) return call('write', args)
      const { octets, done } = readWrite(args)
      if (octets === null) throw new TypeError('write: expected a string or octets')
      if (phase === 'ended') {
        tooLate()
        if (done !== null) process.nextTick(done, new Error('write after end'))
        return false
      }
      const ok = take(octets)
      if (done !== null) process.nextTick(done)
      return ok
    },
    end(...args) {
      if (!mine()) return call('end', args)
      if (phase === 'ended') return tooLate()
      const { octets, done } = readWrite(args)
      if (octets !== null) take(octets)
      if (done !== null) res.once('finish', done)
      finish()
      return res
    },
    writeHead(...args) {
      // With a head kept back, Node's own method says what it always says to a second one.
      if (!mine() || (head !== null && phase === 'observing')) return call('writeHead', args)
      if (phase === 'ended') return tooLate()
      applyWriteHead(res, args)
      makeHead()
      return res
    },
    flushHeaders(...args) {
      if (!mine()) return call('flushHeaders', args)
      if (phase === 'observing') openHead()
      return undefined
    },
    destroy(...args) {
      if (mine()) broken('handler_destroyed')
      return call('destroy', args)
    },
    /** A client that leaves does not stop a handler: 'close' comes later; an event stream ends (DESIGN §2.3). */
    emit(...args) {
      // A pipelined request's turn has come; what its answer said so far follows in the same turn.
      if (args[0] === 'socket' && args[1] instanceof Socket && phase !== 'over') {
        flushing = true
        process.nextTick(() => {
          flushing = false
        })
        guard(args[1])
      }
      if (args[0] !== 'close' || phase === 'over') return call('emit', args)
      closed = true
      if (head?.events === true) broken('event_stream_closed')
      else if (destroyedHere(req)) broken('handler_destroyed')
      if (phase === 'observing') outlet.wake()
      return true
    },
  }
  for (const name of WATCHED) replace(name, handlers[name])
  for (const name of INFORMATIONAL) {
    const own = Reflect.get(res, name) as (...args: unknown[]) => unknown
    replace(name, (...args: unknown[]) => bypass(() => Reflect.apply(own, res, args)))
  }
  const guard = (socket: Socket): void => {
    unguard = guardSocket(socket, () => passing > 0 || flushing || phase === 'over', aroundTheGate)
  }
  if (res.socket !== null) guard(res.socket)

  const restore = (): void => {
    outlet.wake()
    unguard()
    phase = 'over'
    for (const [name, descriptor] of theirs) {
      if (descriptor === undefined) Reflect.deleteProperty(res, name)
      else Object.defineProperty(res, name, descriptor)
    }
    if (!release.started()) res._header = null
    res.finished = false
    if (closed) res.emit('close')
  }
  return {
    /** Settles once: the handler ended its response, or it will not. */
    over,
    /** The handler is not waited for any longer. */
    abandon: broken,
    started: (): boolean => release.started(),
    /** The record is durable: let the end go. */
    release(recorded: Recorded): void {
      restore()
      release.complete(recorded)
    },
    /** Nothing the handler said goes out: the response is as it was before the handler. */
    discard(): void {
      restore()
      // A handler that is still at work may answer yet: no later request may share its connection.
      res.shouldKeepAlive = false
      res._trailer = ''
      res.statusCode = before.status
      Reflect.deleteProperty(res, 'statusMessage')
      for (const name of res.getHeaderNames()) res.removeHeader(name)
      for (const [name, value] of before.headers)
        if (value !== undefined) res.setHeader(name, value)
    },
    /** There is no record, or no end: the client must see that something is missing. */
    cut(): void {
      restore()
      release.cut()
    },
    /** Nothing more is said: memory is given back when what was said is out. */
    exchanged: (): void => release.over(),
  }
}

/** Chunk, encoding and callback, each of which may be left out. Copied: a handler may reuse its buffer. */
function readWrite([chunk, encoding, callback]: readonly unknown[]): {
  readonly octets: Buffer | null
  readonly done: ((error?: Error) => void) | null
} {
  const done = [chunk, encoding, callback].find((arg) => typeof arg === 'function')
  const octets =
    typeof chunk === 'string'
      ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
      : chunk instanceof Uint8Array
        ? Buffer.from(chunk)
        : null
  return { octets, done: (done as ((error?: Error) => void) | undefined) ?? null }
}

/** Neither the peer's FIN nor an error ended the connection: this process did. */
const destroyedHere = ({ socket }: IncomingMessage): boolean =>
  socket.destroyed && !socket.readableEnded && socket.errored === null
