import type { AddressInfo } from 'node:net'
import type { GateConfig } from '../config/model.js'
import { createMetrics } from '../mounts/admin/routes/metrics.js'
import type { Report } from '../mounts/proxy/options.js'
import { createProxy, type ProxyServer } from '../mounts/proxy/server.js'
import { attachAdmin } from './admin.js'
import { systemClock } from './clock.js'
import { createGate } from './create-gate.js'
import { mountMcp } from './mcp/mount.js'
import { limitsOf, routesOf, tlsOf } from './proxy-config.js'
import { watchVerdicts } from './telemetry/watch-verdicts.js'
import { createUpstreams } from './upstreams.js'
import { startWebhooks } from './webhooks.js'

type StartOptions = {
  readonly report: Report
  readonly judged?: 'by_files' | 'by_nothing'
  readonly acceptMissingHead?: boolean
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly beforeListening?: () => void
  /** Binds a listener to the configured port, or to another one. */
  readonly listen?: (port: number, bind: Bind) => Promise<AddressInfo>
}
type Bind = (port: number) => Promise<AddressInfo>

export type Started = Awaited<ReturnType<typeof startGate>>

/** A gate with both its listeners and its webhooks; if one of them fails, the others are closed. */
export async function startGate(config: GateConfig, options: StartOptions) {
  const { judged = 'by_files', acceptMissingHead = false, env = process.env, report } = options
  const { listen = (port, bind) => bind(port) } = options
  const metrics = createMetrics(systemClock)
  const watch = watchVerdicts(systemClock, (verdict) => {
    metrics.verdict(verdict)
    report({ level: 'info', event: 'verdict', ...verdict })
  })
  const upstreams = createUpstreams(config, env)
  const tls = tlsOf(config)
  const opened = await createGate(config, {
    judged,
    acceptMissingHead,
    approvals: true,
    concluding: watch.concluding,
    report(event) {
      metrics.report(event)
      report(event)
    },
  })
  const gate = watch.around(opened)
  const attached: { close(): Promise<void> }[] = []
  let proxy: ProxyServer | null = null
  let adminUrl = ''
  const mcp = mountMcp(gate, config, {
    env,
    report,
    scheme: tls === undefined ? 'http' : 'https',
    adminUrl: () => adminUrl,
  })
  const close = async (drainMs: number): Promise<void> => {
    const draining = proxy?.close(drainMs)
    await mcp.close(drainMs)
    await draining
    for (const { upstream } of upstreams.values()) await upstream.close()
    for (const one of attached) await one.close()
    await gate.close()
  }
  options.beforeListening?.()
  try {
    const limits = limitsOf(config)
    const passThrough = routesOf(config)
    const beside = mcp.endpoint
    const served = createProxy({ gate, upstreams, passThrough, limits, report, beside }, tls)
    proxy = served
    const { data, admin } = config.listeners
    let attempts = 0
    const { port: adminPort } = await listen(admin.port, async (port) => {
      const listeners = { ...config.listeners, admin: { ...admin, port } }
      // On a second port the metrics watch the gate already.
      const counting = attempts++ === 0 ? metrics : { ...metrics, watch: () => undefined }
      const deps = { metrics: counting, report, dataPlane: served.ready }
      const operators = await attachAdmin(gate, { ...config, listeners }, deps)
      attached.push(operators)
      return operators.admin
    })
    adminUrl = urlOf('http', admin.host, adminPort)
    attached.push(await startWebhooks(gate, config, { adminUrl, report, count: metrics.delivery }))
    const { port } = await listen(data.port, (wanted) => served.listen(wanted, data.host))
    const agentsUrl = urlOf(tls === undefined ? 'http' : 'https', data.host, port)
    return { gate, proxy: served, agentsUrl, adminUrl, close }
  } catch (error) {
    await close(0)
    throw error
  }
}

const urlOf = (scheme: string, host: string, port: number): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
