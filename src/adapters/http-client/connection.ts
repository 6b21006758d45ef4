import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import {
  type ConnectionOptions,
  connect as connectTls,
  type SecureContextOptions,
  TLSSocket,
} from 'node:tls'
import type { Observation } from '../../core/capsule/observation.js'
import { notSent } from '../../ports/dispatch.js'

/** What listens to a connection in use. At rest nothing does, and then every byte is a fault. */
export type Listener = {
  bytes(chunk: Buffer): void
  /** The peer's FIN, after all its bytes. */
  closed(): void
  /** Gone without a FIN. */
  broken(): void
}

const NOTHING = Buffer.alloc(0)

export class Connection {
  readonly socket: Socket
  readonly tls: boolean
  #listener: Listener | null = null
  #ended = false

  constructor(socket: Socket) {
    this.socket = socket
    this.tls = socket instanceof TLSSocket
    socket.on('data', (chunk: Buffer) => {
      if (this.#listener === null) this.discard()
      else this.#listener.bytes(chunk)
    })
    socket.on('end', () => {
      this.#ended = true
      if (this.#listener === null) this.discard()
      else this.#tellEnd()
    })
    // 'close' follows every error; the error's code decides nothing.
    socket.on('error', () => {})
    socket.on('close', () => this.#listener?.broken())
  }

  /**
   * 'end' alone does not prove a FIN: when bytes and a reset are read in one poll, libuv reports the
   * end of file and the reset stays unread in the kernel. Writing nothing brings it out.
   */
  #tellEnd(): void {
    if (this.socket.writableLength > 0) {
      // Nothing can be asked behind an unfinished request; no response is complete then anyway.
      this.#listener?.closed()
      return
    }
    this.socket.write(NOTHING, (error) => {
      if (error === undefined || error === null) this.#listener?.closed()
      else this.#listener?.broken()
    })
  }

  get usable(): boolean {
    return !this.#ended && !this.socket.destroyed && this.socket.writable
  }

  attach(listener: Listener): void {
    this.#listener = listener
  }

  detach(): void {
    this.#listener = null
  }

  discard(): void {
    this.#listener = null
    this.socket.destroy()
  }

  /**
   * One whole poll of the event loop without a listener: what the peer sent unasked (a stale
   * answer, a FIN, a banner) is read now and kills the connection, instead of becoming the next call's
   * answer.
   */
  async quiet(): Promise<boolean> {
    await wholePoll()
    return this.usable
  }
}

let polled: Promise<void> | null = null

/**
 * Two immediates, because the first may come before any poll. Calls before the first has come
 * share both: the poll between them begins later than the question.
 */
function wholePoll(): Promise<void> {
  polled ??= new Promise((resolve) =>
    setImmediate(() => {
      polled = null
      setImmediate(resolve)
    }),
  )
  return polled
}

export type Origin = {
  readonly host: string
  readonly port: number
  readonly tls: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'> | null
  /** Asked for each new connection; absent: the system's resolver. */
  readonly lookup: LookupFunction | undefined
}

/** DNS, TCP and TLS within one deadline. Not one byte of a request is at stake here. */
export function openConnection(
  origin: Origin,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<Connection | Observation> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve(notSent('aborted'))
      return
    }
    const socket = begin(origin)
    const settle = (outcome: Connection | Observation): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      socket.removeListener('error', onError)
      socket.removeListener('close', onClose)
      socket.removeListener(ready, onReady)
      if (!(outcome instanceof Connection)) {
        socket.on('error', () => {})
        socket.destroy()
      }
      resolve(outcome)
    }
    const onAbort = (): void => settle(notSent('aborted'))
    const onClose = (): void => settle(notSent('connect_failed'))
    const onError = (error: NodeJS.ErrnoException): void =>
      settle(notSent(`connect_failed:${error.code ?? 'unknown'}`))
    const onReady = (): void => settle(new Connection(socket))
    const ready = origin.tls === null ? 'connect' : 'secureConnect'
    const timer = setTimeout(
      () => settle(notSent('connect_deadline', true)),
      Math.max(1, deadlineMs),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
    socket.once('error', onError)
    socket.once('close', onClose)
    socket.once(ready, onReady)
  })
}

function begin({ host, port, tls, lookup }: Origin): Socket {
  const to = { host, port, lookup }
  if (tls === null) return connect({ ...to, noDelay: true, allowHalfOpen: true })
  // allowHalfOpen is documented for tls.connect and missing from its types.
  const options: ConnectionOptions & { allowHalfOpen: true } = {
    ...tls,
    ...to,
    allowHalfOpen: true,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED cannot unsay it.
    rejectUnauthorized: true,
  }
  const socket = connectTls(options)
  socket.setNoDelay(true)
  return socket
}
