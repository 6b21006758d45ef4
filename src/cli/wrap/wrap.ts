import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { mkdirSync } from '../../adapters/disk/files.js'
import { wrappedEnvironment } from '../../app/mcp/environment.js'
import { DEFAULT_TERMS } from '../../app/mcp/served.js'
import { runWrap } from '../../app/wrap/run.js'
import { runToGate } from '../../app/wrap/to-gate.js'
import { loadConfig } from '../../config/load.js'
import type { GateConfig } from '../../config/model.js'
import { SERVER_NAME } from '../../core/manifest/expand/match.js'
import { openWire, type Wire } from '../../mounts/mcp/stdio.js'
import { problemsError, UsageError } from '../output/print.js'
import { logReports } from '../serve/serve.js'
import { CLIENTS, type ClientName, snippet } from './show-config.js'

type Options = Partial<
  Record<'config' | 'name' | 'agent' | 'data' | 'gate' | 'tokenFile' | 'adminPort', string>
> & { readonly showConfig?: ClientName }

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export function register(program: Command): void {
  program
    .command('wrap')
    .description('put an MCP server behind the gate: its client starts this instead of the server')
    .argument('[command...]', 'the server, behind --')
    .option('--config <file>', 'gate.yaml; without one everything is recorded and nothing refused')
    .option('--name <server>', "the server's name in manifests; by default the command's own")
    .option('--agent <name>', 'who calls', 'local')
    .option('--data <directory>', 'data folder')
    .option('--admin-port <port>', 'where people decide; 0 picks a free one')
    .option('--gate <url>', 'a gate that runs already: this is then only the way to it')
    .option('--token-file <file>', 'the token for --gate')
    .addOption(
      new Option('--show-config <client>', 'print what to paste into the client and exit').choices(
        Object.keys(CLIENTS),
      ),
    )
    .action((command: readonly string[], options: Options) => wrap(command, options))
}

async function wrap(command: readonly string[], options: Options): Promise<void> {
  const name = nameOf(command, options)
  if (options.showConfig !== undefined) {
    process.stdout.write(`${snippet(options.showConfig, name, command, process.argv)}\n`)
    return
  }
  const stop = stopOnSignal()
  // A client that has gone ends nothing: what was sent is observed, and recorded, to its end.
  process.stdout.removeAllListeners('error')
  process.stderr.on('error', () => undefined)
  // stdout is the wire: what the gate has to say goes to stderr.
  const report = logReports('warn', { write: say })
  if (options.gate !== undefined) {
    if (options.tokenFile === undefined) throw new UsageError('--gate needs --token-file')
    if (command.length > 0) throw new UsageError('with --gate the gate starts the server itself')
    const wire = openWire(process.stdin, process.stdout, Number.MAX_SAFE_INTEGER)
    const to = { url: options.gate, name, tokenFile: options.tokenFile }
    return leave(wire, runToGate(to, wire, { stop, report }), stop)
  }
  const [program, ...args] = command
  if (program === undefined) throw new UsageError('name the server behind --')
  const config = configOf(name, options)
  const wire = openWire(process.stdin, process.stdout, config.limits.body_bytes)
  const env = wrappedEnvironment(process.env, config)
  const { agent = 'local' } = options
  const wrapping = { name, agent, command: program, args, cwd: process.cwd(), env }
  const judged = options.config === undefined ? 'by_nothing' : 'by_files'
  return leave(wire, runWrap(config, wrapping, wire, { judged, report, stop, stderr: say }), stop)
}

/** Of what nobody has read on stderr; more is dropped. A client may read none of it. */
const MOST_UNREAD = 1024 * 1024
const say = (text: string | Uint8Array): void => {
  if (process.stderr.writableLength < MOST_UNREAD) process.stderr.write(text)
}

/** What a client that takes its time has to read the last answers; less once it wants an end. */
const FLUSH_MS = { unasked: 5_000, asked: 200 }

/** Ends this process with the code, when the client has what is for it. */
async function leave(wire: Wire, running: Promise<number>, stop: AbortSignal): Promise<void> {
  try {
    const code = await running
    const said = new Promise<void>((resolve) => void process.stderr.write('', () => resolve()))
    const flushed = Promise.all([wire.flushed(), said])
    await Promise.race([flushed, pause(stop.aborted ? FLUSH_MS.asked : FLUSH_MS.unasked)])
    process.exit(code)
  } finally {
    // Only an error comes here: its words are still to be printed, and nothing more is to be read.
    process.stdin.destroy()
  }
}

/** `npx -y @modelcontextprotocol/server-filesystem /tmp` is called filesystem. */
function nameOf(command: readonly string[], { name }: Options): string {
  if (name !== undefined) {
    if (SERVER_NAME.test(name)) return name
    throw new UsageError(`--name ${name}: expected lower-case letters, digits, - and _`)
  }
  const words = command.filter((word) => !word.startsWith('-') && !RUNNERS.has(basename(word)))
  const own = basename(words[0] ?? '')
    .replace(/@[\d.]+$|\.[cm]?[jt]s$|\.py$/g, '')
    .toLowerCase()
    .replace(/^(?:mcp-)?server-|-mcp$|-server$/g, '')
    .replaceAll(/[^a-z0-9_-]/g, '-')
  return SERVER_NAME.test(own) ? own : 'server'
}
const RUNNERS = new Set([
  'npx',
  'node',
  'uvx',
  'python',
  'python3',
  'bunx',
  'deno',
  'docker',
  'run',
])

function configOf(name: string, options: Options): GateConfig {
  const env: Record<string, string | undefined> = { ...process.env }
  const data = options.data ?? (options.config === undefined ? stateFolder(name) : undefined)
  if (data !== undefined) {
    mkdirSync(resolve(data), { recursive: true, mode: 0o700 })
    env.GATE_DATA_DIR = JSON.stringify(resolve(data))
  }
  if (options.adminPort !== undefined) env.GATE_LISTENERS__ADMIN__PORT = options.adminPort
  const loaded = loadConfig(options.config ?? null, env)
  if (!loaded.ok) throw problemsError(loaded.problems)
  const { config } = loaded
  const { cwd } = process
  const own = {
    ...DEFAULT_TERMS,
    to: { kind: 'command', command: [], cwd: cwd(), env: [] },
  } as const
  return {
    ...config,
    ...(options.config === undefined ? { mode: 'observe' as const } : {}),
    mcp: { ...config.mcp, [name]: config.mcp[name] ?? own },
  }
}

/** Each server has its own folder: what it recorded is found by its name. */
const stateFolder = (name: string): string =>
  join(process.env.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'capsule-gate', name)

/** The first signal goes on to the command; a second one ends this process at once. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController()
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(1)
      controller.abort(signal)
    })
  }
  return controller.signal
}
