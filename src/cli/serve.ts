import { resolve } from 'node:path'
import type { Command } from 'commander'
import { pino } from 'pino'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { loadConfig } from '../config/load.js'
import { loadManifests, unknownUpstreams } from '../config/load-manifests.js'
import { type ConfigProblem, type GateConfig, sayProblem } from '../config/model.js'
import { openGate, type RunningGate } from '../config/wire.js'
import type { Capsule } from '../core/capsule/model.js'
import { hex } from '../core/hex.js'
import { manifestDigest } from '../core/manifest/expand.js'
import type { LoadedManifest } from '../core/manifest/match.js'
import { identityOf, limitsOf, routesOf, tlsOf, upstreamsOf } from '../mounts/proxy/from-config.js'
import { OBSERVE_ALL, writeObservePolicies } from '../mounts/proxy/observe-all.js'
import type { Report } from '../mounts/proxy/options.js'
import { createProxy } from '../mounts/proxy/server.js'
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
      await serve(configOf(options), options.upstream === undefined ? 'files' : 'observe', report)
    })
}

async function serve(
  config: GateConfig,
  judged: 'files' | 'observe',
  report: Report,
): Promise<void> {
  const source = (): Judged => (judged === 'files' ? fromFiles(config) : fromNothing(config))
  const gate = await openGate({
    ...source(),
    operator: config.operator,
    mode: config.mode,
    dir: config.data_dir,
    headFile: config.journal.head_file,
    segmentBytes: config.journal.segment_bytes,
    idempotencyTtlSeconds: config.idempotency.ttl_seconds,
    identity: identityOf(config, report, judged === 'observe'),
    report,
  })
  const upstreams = upstreamsOf(config, process.env)
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
    reload(gate, source, config, report)
      .then((tls) => tls !== undefined && proxy.reloadTls(tls))
      .catch((error: unknown) =>
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

type Judged = { readonly manifests: readonly LoadedManifest[]; readonly policyFolder: string }

function fromFiles(config: GateConfig): Judged {
  const loaded = loadManifests(config.manifests)
  if (!loaded.ok) throw problems(loaded.problems)
  const lost = unknownUpstreams(config, loaded.manifests)
  if (lost.length > 0) throw problems(lost)
  return { manifests: loaded.manifests, policyFolder: config.policies }
}

const fromNothing = ({ data_dir }: GateConfig): Judged => ({
  manifests: [{ manifest: OBSERVE_ALL, digest: manifestDigest(OBSERVE_ALL, nodeCrypto) }],
  policyFolder: writeObservePolicies(data_dir),
})

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
  gate: RunningGate,
  source: () => Judged,
  config: GateConfig,
  report: Report,
): Promise<ReturnType<typeof tlsOf>> {
  const { operator, mode } = config
  const refused = await gate.reload({ ...source(), operator, mode })
  if (refused.length === 0) report({ level: 'info', event: 'reloaded' })
  return tlsOf(config)
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
