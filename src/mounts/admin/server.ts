import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock, systemIds } from '../../app/clock.js'
import type { GateConfig } from '../../config/model.js'
import type { GateReport } from '../../gate/context.js'
import type { Gate } from '../../gate/gate.js'
import { createApprover } from '../approver/router.js'
import { listen } from '../http/listen.js'
import { type AppOptions, createApp } from './app.js'
import { createSources } from './approvals/sources.js'
import { adminTokens } from './authenticate.js'
import { createReadiness } from './readiness.js'
import { METRICS_TYPE, type Metrics } from './routes/metrics.js'
import { ROUTES } from './routes.js'

export type AdminServer = {
  listen(port: number, host: string): Promise<AddressInfo>
  /** Ends event streams too. */
  close(): Promise<void>
}

export const createAdmin = (options: AppOptions): AdminServer =>
  serverOf('admin', createApp(ROUTES, options, createApprover(options)) as RequestListener)

/** Prometheus text without a token, for a scraper on the same host; it says nothing but numbers and names of tools. */
const createMetricsListener = (metrics: Metrics): AdminServer =>
  serverOf('metrics', (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': METRICS_TYPE }).end(text),
      () => response.writeHead(500).end(),
    )
  })

function serverOf(name: 'admin' | 'metrics', listener: RequestListener): AdminServer {
  const server: Server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 10_000 },
    listener,
  )
  return {
    listen: (port, host) => listen(server, name, port, host),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Without a token there is no other place for it (DESIGN §7). */
const LOOPBACK = '127.0.0.1'

export type Attached = {
  readonly admin: AddressInfo
  readonly metrics: AddressInfo | null
  close(): Promise<void>
}

/** The admin plane of a running gate, as gate.yaml has it; SIGUSR2 halts everything. */
export async function attachAdmin(
  gate: Gate,
  config: Pick<GateConfig, 'approvals' | 'data_dir' | 'listeners' | 'upstreams'>,
  options: {
    readonly metrics: Metrics
    readonly report: (event: GateReport) => void
    readonly dataPlane?: () => boolean
  },
): Promise<Attached> {
  const { metrics, report, dataPlane } = options
  metrics.watch(gate)
  const upstreams = Object.fromEntries(
    Object.entries(config.upstreams).map(([name, { origin }]) => [name, origin]),
  )
  const tokens = adminTokens(config.data_dir, (error) =>
    report({ level: 'error', event: 'tokens_unreadable', detail: String(error) }),
  )
  const server = createAdmin({
    gate,
    metrics,
    report,
    readiness: createReadiness({
      gate,
      upstreams,
      ...(dataPlane === undefined ? {} : { dataPlane }),
    }),
    tokens,
    clock: systemClock,
    ids: systemIds(systemClock),
    sources: createSources(config.approvals.sources, tokens, process.env),
  })
  const { host, port } = config.listeners.admin
  const admin = await server.listen(port, host)
  const scraped = createMetricsListener(metrics)
  const { metrics: open } = config.listeners
  const scrape =
    open === null
      ? null
      : await scraped.listen(open.port, LOOPBACK).catch(async (error: unknown) => {
          await server.close()
          throw error
        })
  const halt = (): void => haltAll(gate, report)
  process.on('SIGUSR2', halt)
  return {
    admin,
    metrics: scrape,
    async close() {
      process.off('SIGUSR2', halt)
      if (scrape !== null) await scraped.close()
      await server.close()
    },
  }
}

/** Whoever may signal the process owns it; the journal says that it was a signal. */
function haltAll(gate: Gate, report: (event: GateReport) => void): void {
  gate.halt({ kind: 'all' }, 'SIGUSR2').then(
    () => report({ level: 'warn', event: 'halted', detail: 'all, by SIGUSR2' }),
    (error: unknown) => report({ level: 'error', event: 'halt_failed', detail: String(error) }),
  )
}
