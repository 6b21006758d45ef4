import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Attached, attachAdmin } from '../app/admin.js'
import { systemClock } from '../app/clock.js'
import { type ConfiguredGate, createGate } from '../app/create-gate.js'
import { watchFolders } from '../app/judges/watch-folders.js'
import type { RunningGate } from '../app/open-gate.js'
import { limitsOf, routesOf, tlsOf } from '../app/proxy-config.js'
import { watchVerdicts } from '../app/telemetry/watch-verdicts.js'
import { createUpstreams } from '../app/upstreams.js'
import { startWebhooks, type Webhooks } from '../app/webhooks.js'
import { loadConfig } from '../config/load.js'
import { type ConfigProblem, type GateConfig, sayProblem } from '../config/model.js'
import { hex } from '../core/bytes/hex.js'
import { createMetrics } from '../mounts/admin/routes/metrics.js'
import type { Report } from '../mounts/proxy/options.js'
import { createProxy, type ProxyServer } from '../mounts/proxy/server.js'
import { logReports } from './log.js'
import { EXIT, plain, UsageError } from './output.js'

type Options = {
  config?: string
  upstream?: string
  observe?: boolean
  data?: string
  host?: string
  port?: string
  adminPort?: string
  acceptMissingHead?: boolean
}

export function register(program: Command): void {
  program
    .command('serve')
    .description(
      'stand in front of an upstream: gate.yaml, or --upstream URL --observe without files',
    )
    .option('--config <file>', 'gate.yaml')
    .option('--upstream <url>', 'without files: the API to stand in front of')
    .option('--observe', 'without files: record everything, refuse nothing that can be read')
    .option('--data <directory>', 'data folder')
    .option('--host <address>', 'where agents connect')
    .option('--port <port>', 'where agents connect; 0 picks a free one')
    .option('--admin-port <port>', 'where operators connect; 0 picks a free one')
    .option('--accept-missing-head', 'start although the second head of the journal is gone')
    .action(async (options: Options) => {
      const config = configOf(options)
      const judged = options.upstream === undefined ? 'by_files' : 'by_nothing'
      const { acceptMissingHead = false } = options
      await serve(config, judged, acceptMissingHead, logReports(config.log.level))
    })
}

async function serve(
  config: GateConfig,
  judged: 'by_files' | 'by_nothing',
  acceptMissingHead: boolean,
  report: Report,
): Promise<void> {
  const metrics = createMetrics(systemClock)
  const watch = watchVerdicts(systemClock, (told) => {
    metrics.verdict(told)
    report({ level: 'info', event: 'verdict', ...told })
  })
  const upstreams = createUpstreams(config, process.env)
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
  let proxy: ProxyServer | null = null
  let operators: Attached | null = null
  let webhooks: Webhooks | null = null
  const close = async (drainMs: number): Promise<void> => {
    await proxy?.close(drainMs)
    for (const { upstream } of upstreams.values()) await upstream.close()
    await operators?.close()
    await webhooks?.close()
    await gate.close()
  }
  const start = async (): Promise<ProxyServer> => {
    const served = createProxy(
      {
        gate,
        upstreams,
        passThrough: routesOf(config),
        limits: limitsOf(config),
        report,
      },
      tls,
    )
    proxy = served
    operators = await attachAdmin(gate, config, { metrics, report, dataPlane: served.ready })
    const adminUrl = urlOf('http', config.listeners.admin.host, operators.admin.port)
    webhooks = await startWebhooks(gate, config, { adminUrl, report, count: metrics.delivery })
    const { host, port } = config.listeners.data
    const address = await served.listen(port, host)
    const scheme = tls === undefined ? 'http' : 'https'
    greet(config, gate, { agents: urlOf(scheme, host, address.port), operators: adminUrl })
    return served
  }
  // Before anything says that the gate is up: a signal from then on stops it cleanly.
  const stopping = stopSignal()
  // A gate without one of its listeners must not look healthy on the others.
  const serving = await start().catch(async (error: unknown) => {
    await close(0)
    throw error
  })

  const again = (): Promise<void> =>
    reload(gate, config, serving, report).catch((error: unknown) =>
      report({ level: 'error', event: 'reload_refused', detail: String(error) }),
    )
  process.on('SIGHUP', () => void again())
  const files =
    judged === 'by_files' ? watchFolders([config.manifests, config.policies], again) : null
  await stopping
  await files?.close()
  process.stderr.write('draining; a second signal exits at once\n')
  await close(config.limits.drain_seconds * 1000)
  process.exit(EXIT.ok)
}

const problems = (found: readonly ConfigProblem[]): Error =>
  new Error(found.map(sayProblem).join('\n'))

function configOf(options: Options): GateConfig {
  const { upstream, observe } = options
  if ((upstream === undefined) !== (observe !== true)) {
    throw new UsageError('--upstream and --observe go together; otherwise name --config gate.yaml')
  }
  if (upstream !== undefined && options.config !== undefined) {
    throw new UsageError('--config and --upstream exclude each other')
  }
  // A flag is an override like any other, above the environment's.
  const env: Record<string, string | undefined> = { ...process.env }
  const set = (variable: string, value: string | undefined): void => {
    if (value !== undefined) env[variable] = JSON.stringify(value)
  }
  set('GATE_UPSTREAM', upstream)
  set('GATE_DATA_DIR', options.data === undefined ? undefined : resolve(options.data))
  set('GATE_LISTENERS__DATA__HOST', options.host)
  if (options.port !== undefined) env.GATE_LISTENERS__DATA__PORT = options.port
  if (options.adminPort !== undefined) env.GATE_LISTENERS__ADMIN__PORT = options.adminPort
  const loaded = loadConfig(upstream === undefined ? (options.config ?? 'gate.yaml') : null, env)
  if (!loaded.ok) throw problems(loaded.problems)
  return observe === true ? { ...loaded.config, mode: 'observe' } : loaded.config
}

/** URLs, what judges, who signs: one table, nothing else. */
function greet(
  config: GateConfig,
  gate: RunningGate,
  urls: { readonly agents: string; readonly operators: string },
): void {
  const world = gate.read.judges()
  const rows = [
    ['agents connect to', urls.agents],
    ['operators', urls.operators],
    ...Object.entries(config.upstreams).map(([name, { origin }]) => [`upstream ${name}`, origin]),
    [
      'mode',
      world.mode === 'observe' ? 'OBSERVE: nothing is refused by policy or constraint' : 'enforce',
    ],
    ['policy', `sha256 ${world.policy.digest}`],
    ['signing key', hex(gate.data.signer.kid('statement'))],
    ['records', config.data_dir],
  ]
  for (const [name = '', value = ''] of rows) {
    process.stderr.write(`  ${name.padEnd(18)} ${plain(value)}\n`)
  }
}

const urlOf = (scheme: string, host: string, port: number): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`

async function reload(
  gate: ConfiguredGate,
  config: GateConfig,
  proxy: ProxyServer,
  report: Report,
): Promise<void> {
  const refused = await gate.reloadFiles()
  report(
    refused.length === 0
      ? { level: 'info', event: 'reloaded' }
      : { level: 'error', event: 'reload_refused', detail: refused.join('\n') },
  )
  const tls = tlsOf(config)
  if (tls !== undefined) proxy.reloadTls(tls)
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const stop = (): void => {
      if (asked) process.exit(EXIT.failed)
      asked = true
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
