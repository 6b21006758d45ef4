import { setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { unrecordedProblem } from '../../core/verdict/problem.js'
import { listen } from '../http/listen.js'
import { answerReserved, isReserved, type ReadRest } from '../http/own/reserved.js'
import { isTransition } from '../http/own/transition.js'
import { readHead } from '../http/read-request.js'
import { type Incoming, readWhole } from '../http/read-whole.js'
import { sendProblem } from '../http/respond.js'
import { backgroundDispatch } from './background.js'
import { refuseBytes, trackConnections } from './connections.js'
import { governExchange, identifyCaller } from './exchange.js'
import { createLimiter } from './limiter.js'
import type { ProxyOptions } from './options.js'
import { watchOverload } from './overload.js'
import { createPassThrough } from './pass-through.js'

export type ProxyServer = ReturnType<typeof createProxy>
export type TlsFiles = {
  readonly cert: string
  readonly key: string
  /** Client certificates signed by it are an identity; others are turned away. */
  readonly clientCa?: string
}

/** The data plane: agents on one side, upstreams on the other. */
export function createProxy(options: ProxyOptions, tls?: TlsFiles) {
  const { gate, limits, report } = options
  const connections = trackConnections()
  const overload = watchOverload(limits.maxLoopDelayMs)
  const cutOff = new AbortController()
  // Every call under way and every WebSocket listens to it.
  setMaxListeners(0, cutOff.signal)
  const limiter = createLimiter({
    maxRefusals: limits.maxRefusals,
    windowSeconds: limits.windowSeconds,
    record: (dropped) => gate.recordDropped(dropped),
    failed: (error) =>
      report({ level: 'error', event: 'count_not_written', detail: String(error) }),
  })
  const passThrough = createPassThrough(options)
  const count = { malformed: 0, dropped: 0, shed: 0 }
  let closing = false

  async function serve(incoming: Incoming): Promise<void> {
    const { req, res } = incoming
    if (closing) res.shouldKeepAlive = false
    if (overload.shedding()) {
      count.shed++
      res.shouldKeepAlive = false
      sendProblem(res, unrecordedProblem('overloaded'))
      return
    }
    const head = readHead(req)
    const { source } = head.caller
    const reserved = isReserved(head.target)
    const passes = !reserved && passThrough.takes(req)
    const over = limiter.isOver(source)
    // The only routes that are open to unknown callers.
    if (passes && !over) return passThrough.serve(req, res)
    const found = identifyCaller(head, incoming, gate)
    const identified = found instanceof Promise ? await found : found
    if (identified.kind === 'unknown' && over) {
      count.dropped++
      limiter.dropped(source)
      req.socket.destroy()
      return
    }
    if (passes) return passThrough.serve(req, res)
    if (identified.kind === 'unknown') limiter.refused(source)
    if (options.beside?.takes(head.target) === true) {
      return options.beside.serve(head, identified, incoming)
    }
    if (reserved && identified.kind === 'known' && !isTransition(head)) {
      const readRest: ReadRest = (room, most = limits.body.maxBytes) => {
        const maxBytes = Math.min(most, limits.body.maxBytes)
        return readWhole(head, incoming, { ...limits.body, maxBytes }, room)
      }
      return answerReserved(head, identified, res, gate, readRest)
    }
    return governExchange(head, identified, incoming, options, cutOff.signal)
  }

  // A request may come in the very packet that ends the handshake: the parser has it, closed or not.
  const turnedAway = new WeakSet<Duplex>()

  const take = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void => {
    if (turnedAway.has(req.socket)) return
    connections.take(req.socket, res, (queue) =>
      serve({ req, res, expectsContinue, queue, fault: null }).catch((error: unknown) => {
        report({ level: 'error', event: 'exchange_failed', detail: String(error) })
        res.destroy()
      }),
    )
  }

  const server = listener(tls, limits)
  server.on('secureConnection', (socket: TLSSocket) => {
    if (!isUnverified(socket)) return
    turnedAway.add(socket)
    // No call yet, so no capsule: a line of the journal counts it, as it does for floods.
    count.dropped++
    limiter.dropped(socket.remoteAddress ?? '')
    socket.destroy()
  })
  server.on('request', (req, res) => take(req, res, false))
  server.on('checkContinue', (req, res) => take(req, res, true))
  server.on('checkExpectation', (req, res) => take(req, res, false))
  // CONNECT, and Upgrade where a WebSocket route makes us listen for it: a request like any other.
  const bare = (req: IncomingMessage, socket: Duplex): void => {
    const res = new ServerResponse(req)
    res.shouldKeepAlive = false
    res.assignSocket(socket as Socket)
    res.once('finish', () => socket.end())
    take(req, res, false)
  }
  server.on('connect', bare)
  if (passThrough.upgrades) {
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (turnedAway.has(socket)) return
      if (!passThrough.takes(req)) return bare(req, socket)
      connections.take(socket, null, () =>
        passThrough.upgrade(req, socket as Socket, head, cutOff.signal),
      )
    })
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    count.malformed++
    const fault = error.code?.startsWith('HPE_') === true ? 'body_misframed' : 'body_too_slow'
    connections.broken(socket, fault, () => refuseBytes(error, socket))
  })

  return {
    async listen(port: number, host: string): Promise<AddressInfo> {
      const background = backgroundDispatch(options, cutOff.signal)
      const address = await listen(server, 'data', port, host)
      gate
        .dispatchApproved((call) => background(call) ?? options.beside?.background(call) ?? null)
        .catch((error: unknown) =>
          report({ level: 'error', event: 'approved_not_dispatched', detail: String(error) }),
        )
      return address
    },
    /** New certificates for new connections; those open stay as they are. */
    reloadTls(files: TlsFiles): void {
      if ('setSecureContext' in server) server.setSecureContext(secureContext(files))
    },
    stats: () => ({ ...count, active: connections.active() }),
    /** False first when it closes, so that callers stop before connections are refused. */
    ready: (): boolean => !closing && !overload.shedding() && gate.read.canRecord(),
    /**
     * Takes no more connections, waits for the calls under way, after `drainMs` cuts what is still
     * waiting for an upstream (concluded as such), and resolves when every answer has its capsule.
     */
    async close(drainMs: number): Promise<void> {
      closing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      const timer = setTimeout(() => cutOff.abort(), drainMs)
      await connections.idle()
      clearTimeout(timer)
      server.closeAllConnections()
      await closed
      overload.close()
      await limiter.close()
    },
  }
}

/**
 * A declaration of 8 KiB and a mandate of 16 KiB (DESIGN §7), with as much left for everything else as other
 * servers have for all: Node's own limit is 16 KiB.
 */
const MAX_HEAD_BYTES = 32 * 1024

function listener(tls: TlsFiles | undefined, limits: ProxyOptions['limits']): Server | TlsServer {
  const http = {
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    // Judged with the rest of the head, so that its absence has a capsule too.
    requireHostHeader: false,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: 1_000,
    noDelay: true,
  }
  const server =
    tls === undefined ? createServer(http) : createTlsServer({ ...http, ...secureContext(tls) })
  // Node silently drops fields above its count; the size of the head is the limit that refuses.
  server.maxHeadersCount = 0
  return server
}

/** Without a client certificate a bearer token may still identify; a wrong one ends the handshake. */
const secureContext = ({ cert, key, clientCa }: TlsFiles) => ({
  cert,
  key,
  minVersion: 'TLSv1.2' as const,
  ALPNProtocols: ['http/1.1'],
  ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
})

/** A certificate that fails is never taken for none. */
const isUnverified = (socket: TLSSocket): boolean =>
  !socket.authorized && Object.keys(socket.getPeerCertificate()).length > 0
