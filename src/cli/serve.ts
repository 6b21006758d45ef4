import { resolve } from 'node:path'
import type { Command } from 'commander'
import { pino } from 'pino'
import { type ConfiguredGate, createGate } from '../config/create-gate.js'
import { loadConfig } from '../config/load.js'
import { type ConfigProblem, type GateConfig, sayProblem } from '../config/model.js'
import { createUpstreams } from '../config/upstreams.js'
import type { RunningGate } from '../config/wire.js'
import type { Capsule } from '../core/capsule/model.js'
import { hex } from '../core/hex.js'
import { limitsOf, routesOf, tlsOf } from '../mounts/proxy/from-config.js'
import type { Report } from '../mounts/proxy/options.js'
import { createProxy, type ProxyServer } from '../mounts/proxy/server.js'
import { EXIT, plain, UsageError } from './output.js'

type Options = {
  config?: string
  upstream?: string
  observe?: boolean
  data?: string
  host?: string
  port?: string
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
    .action(async (options: Options) => {
      const logger = pino({ level: 'info', base: null })
      const report: Report = ({ level, event, ...rest }) => logger[level](rest, event)
      await serve(
        configOf(options),
        options.upstream === undefined ? 'by_files' : 'by_nothing',
        report,
      )
    })
}

async function serve(
  config: GateConfig,
  judged: 'by_files' | 'by_nothing',
  report: Report,
): Promise<void> {
  const gate = await createGate(config, { judged, report })
  const upstreams = createUpstreams(config, process.env)
  const [defaultUpstream = 'default'] = upstreams.keys()
  const proxy = createProxy(
    {
      gate,
      upstreams,
      defaultUpstream,
      passThrough: routesOf(config),
      limits: limitsOf(config),
      report,
    },
    tlsOf(config),
  )
  gate.data.subscribe((line) => {
    if (line.type === 'CAPSULE') report({ level: 'info', ...verdictLine(line.capsule as Capsule) })
  })
  const { host, port } = config.listeners.data
  const address = await proxy.listen(port, host)
  greet(
    config,
    gate,
    `${config.listeners.data.tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
  )

  process.on('SIGHUP', () => {
    reload(gate, config, proxy, report).catch((error: unknown) =>
      report({ level: 'error', event: 'reload_refused', detail: String(error) }),
    )
  })
  await stopSignal()
  process.stderr.write('draining; a second signal exits at once\n')
  await proxy.close(config.limits.drain_seconds * 1000)
  for (const { upstream } of upstreams.values()) await upstream.close()
  await gate.close()
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
  const loaded = loadConfig(upstream === undefined ? (options.config ?? 'gate.yaml') : null, env)
  if (!loaded.ok) throw problems(loaded.problems)
  return observe === true ? { ...loaded.config, mode: 'observe' } : loaded.config
}

/** URLs, what judges, who signs: one table, nothing else. */
function greet(config: GateConfig, gate: RunningGate, url: string): void {
  const world = gate.world()
  const rows = [
    ['agents connect to', url],
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

const verdictLine = (capsule: Capsule): { event: string; [name: string]: unknown } => ({
  event: capsule.disposition.verdict_class,
  capsule_id: capsule.capsule_id,
  action_id: capsule.action_id,
  developer: capsule.developer,
  effect: capsule.effect?.type ?? null,
})

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
