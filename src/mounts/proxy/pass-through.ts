import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { readTarget } from '../../core/manifest/route/target.js'
import { problem, unrecordedProblem } from '../../core/verdict/problem.js'
import { TABLE } from '../../core/verdict/table.js'
import { releaseTo } from '../http/client-outlet.js'
import { headFault } from '../http/head-fault.js'
import { readHead } from '../http/read-request.js'
import { sendProblem } from '../http/respond.js'
import { clientHeaders, gateHeaders, type Recorded } from '../http/response-headers.js'
import { hangUp } from './connections.js'
import type { ProxyOptions } from './options.js'
import { passUpstream } from './pass-upstream.js'

/** A route the operator leaves ungoverned: recorded, one `fyi` capsule per request, not judged. */
export type PassRoute = {
  /** `/docs` takes `/docs` and everything below it. */
  readonly path: string
  readonly upstream: string
  readonly kind: 'http' | 'websocket'
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createPassThrough(options: ProxyOptions) {
  const { gate, passThrough: routes, upstreams, limits, report } = options
  const ways = new Map(
    [...new Set(routes.map(({ upstream }) => upstream))].map((upstream) => {
      const origin = upstreams.get(upstream)?.origin ?? ''
      return [upstream, { upstream, origin, proxy: passUpstream(origin, report) }]
    }),
  )

  const routeOf = (req: IncomingMessage): PassRoute | undefined => {
    if (routes.length === 0) return undefined
    const { method, target, headers } = readHead(req)
    const upgrade = req.headers.upgrade?.toLowerCase()
    const plain = headers.filter(([name]) => name !== 'upgrade')
    const read = readTarget(target)
    // A rule of a manifest always comes first.
    if (!READS.has(method) || hasBody(req) || !read.ok || gate.governs(method, target)) return
    if (headFault({ method, headers: plain, httpVersion: req.httpVersion }) !== null) return
    if (upgrade !== undefined && (upgrade !== 'websocket' || method !== 'GET')) return
    const [path = ''] = target.split('?', 1)
    return routes.find(
      (route) =>
        (path === route.path || path.startsWith(`${route.path.replace(/\/$/, '')}/`)) &&
        route.kind === (upgrade === undefined ? 'http' : 'websocket'),
    )
  }

  const wayOf = (req: IncomingMessage) => {
    const way = ways.get(routeOf(req)?.upstream ?? '')
    if (way === undefined) throw new Error('no pass-through route')
    return way
  }

  async function record(req: IncomingMessage, status: number, upstream: string): Promise<Recorded> {
    const passed = { method: req.method ?? '', target: req.url ?? '', status, upstream }
    const ids = await gate.recordPassThrough(passed)
    return { ...ids, verdict: TABLE.passed_through.verdict }
  }

  return {
    upgrades: routes.some(({ kind }) => kind === 'websocket'),
    takes: (req: IncomingMessage): boolean => routeOf(req) !== undefined,

    async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
      const { upstream, origin, proxy } = wayOf(req)
      const terms = { ...limits, holdAll: req.httpVersion === '1.0', wantsTrailers: false }
      const release = releaseTo(res, terms, gate.memory, (headers) =>
        clientHeaders(headers, req.url ?? '', origin, 'rewrite'),
      )
      if (release === null) return sendProblem(res, unrecordedProblem('overloaded'))
      try {
        const seen = await proxy.pass(req, res, release)
        try {
          const recorded = await record(req, seen.status, upstream)
          if (seen.complete) release.complete(recorded)
          else if (release.started()) release.cut()
          else sendProblem(res, problem('outcome_unknown', 502, recorded), gateHeaders(recorded))
        } catch (error) {
          report({ level: 'error', event: 'capsule_not_written', detail: String(error) })
          if (release.started()) release.cut()
          else sendProblem(res, unrecordedProblem('record_lost'))
        }
      } finally {
        release.over()
      }
    },

    /** What flows inside is not seen by the gate: its opening and its end are. */
    async upgrade(
      req: IncomingMessage,
      socket: Socket,
      head: Buffer,
      signal: AbortSignal,
    ): Promise<void> {
      const { upstream, proxy } = wayOf(req)
      await record(req, 101, upstream)
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      // WebSocket has no half-closed state: a client that has ended is gone.
      socket.once('end', () => socket.destroy())
      // Nor has a tool that has ended: octets that are not taken would keep the connection open for ever.
      socket.once('finish', () => hangUp(socket))
      if (signal.aborted) socket.destroy()
      signal.addEventListener('abort', () => socket.destroy(), { once: true })
      proxy.upgrade(req, socket, head)
      await closed
      await record(req, 101, upstream)
    },
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
