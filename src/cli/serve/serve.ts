import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type DestinationStream, pino } from 'pino'
import { watchFolders } from '../../app/judges/watch-folders.js'
import { tlsOf } from '../../app/proxy-config.js'
import { type Started, startGate } from '../../app/serve.js'
import { loadConfig } from '../../config/load.js'
import type { GateConfig } from '../../config/model.js'
import { hex } from '../../core/bytes/hex.js'
import type { Report } from '../../mounts/proxy/options.js'
import { EXIT, printError, problemsError, UsageError } from '../output/print.js'
import { stopSignal } from './stop-signal.js'

type Options = Partial<
  Record<'config' | 'upstream' | 'data' | 'host' | 'port' | 'adminPort', string> &
    Record<'observe' | 'acceptMissingHead', boolean>
>

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
    .action((options: Options) => serve(configOf(options), options))
}

async function serve(config: GateConfig, options: Options): Promise<void> {
  const judged = options.upstream === undefined ? 'by_files' : 'by_nothing'
  const { acceptMissingHead = false } = options
  const report = logReports(config.log.level)
  let stopping: Promise<void> | undefined
  const started = await startGate(config, {
    judged,
    acceptMissingHead,
    report,
    // Not earlier: a signal while the journal is read ends the process at once.
    beforeListening() {
      stopping = stopSignal()
    },
  })
  greet(config, started)
  const again = (): Promise<void> =>
    reload(started, config, report).catch((error: unknown) =>
      report({ level: 'error', event: 'reload_refused', detail: String(error) }),
    )
  process.on('SIGHUP', () => void again())
  const files =
    judged === 'by_files' ? watchFolders([config.manifests, config.policies], again) : null
  await stopping
  await files?.close()
  printError('draining; a second signal exits at once')
  await started.close(config.limits.drain_seconds * 1000)
  process.exit(EXIT.ok)
}

/** What a gate reports, as JSON lines on stdout, from `log.level` of gate.yaml upwards. */
export function logReports(
  level: GateConfig['log']['level'],
  to: DestinationStream = pino.destination(),
): Report {
  const logger = pino({ level, base: null }, to)
  return ({ level: gravity, event, ...rest }) => logger[gravity](rest, event)
}

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
    if (value !== undefined) env[variable] = value
  }
  // Texts are quoted, since values are read as YAML; what is undefined stays so.
  set('GATE_UPSTREAM', JSON.stringify(upstream))
  if (options.data !== undefined) set('GATE_DATA_DIR', JSON.stringify(resolve(options.data)))
  set('GATE_LISTENERS__DATA__HOST', JSON.stringify(options.host))
  set('GATE_LISTENERS__DATA__PORT', options.port)
  set('GATE_LISTENERS__ADMIN__PORT', options.adminPort)
  const loaded = loadConfig(upstream === undefined ? (options.config ?? 'gate.yaml') : null, env)
  if (!loaded.ok) throw problemsError(loaded.problems)
  return observe === true ? { ...loaded.config, mode: 'observe' } : loaded.config
}

/** URLs, what judges, who signs. */
function greet(config: GateConfig, { gate, agentsUrl, adminUrl }: Started): void {
  const { mode, policy } = gate.read.judges()
  const rows = [
    ['agents connect to', agentsUrl],
    ['operators', adminUrl],
    ...Object.entries(config.upstreams).map(([name, { origin }]) => [`upstream ${name}`, origin]),
    ...Object.keys(config.mcp).map((name) => [`MCP server ${name}`, `${agentsUrl}/mcp/${name}`]),
    [
      'mode',
      mode === 'observe' ? 'OBSERVE: nothing is refused by policy or constraint' : 'enforce',
    ],
    ['policy', `sha256 ${policy.digest}`],
    ['signing key', hex(gate.data.signer.kid('statement'))],
    ['records', config.data_dir],
  ]
  for (const [name = '', value = ''] of rows) printError(`  ${name.padEnd(18)} ${value}`)
}

async function reload({ gate, proxy }: Started, config: GateConfig, report: Report): Promise<void> {
  const refused = await gate.reloadFiles()
  report(
    refused.length === 0
      ? { level: 'info', event: 'reloaded' }
      : { level: 'error', event: 'reload_refused', detail: refused.join('\n') },
  )
  const tls = tlsOf(config)
  if (tls !== undefined) proxy.reloadTls(tls)
}
