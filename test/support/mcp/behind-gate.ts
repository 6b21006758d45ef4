import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_TERMS } from '../../../src/app/mcp/served.js'
import { type Started, startGate } from '../../../src/app/serve.js'
import { loadConfig } from '../../../src/config/load.js'
import type { GateConfig } from '../../../src/config/model.js'
import type { Link, Via } from './servers.js'

/** How a server runs, and how the client behind whom the gate stands reaches it. */
export type Way = { readonly server: Via; readonly client: Via }

/** The ways the gate offers. */
export const WAYS: readonly Way[] = [
  { server: 'stdio', client: 'stdio' },
  { server: 'stdio', client: 'http' },
  { server: 'http', client: 'http' },
]

export type Gated = {
  readonly link: Link
  /** How many capsules were written for what went through; null where that cannot be told. */
  capsules(): Promise<number | null>
}

const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'main.js')
const folder = mkdtempSync(join(tmpdir(), 'behind-gate-'))
const started = new Map<string, { readonly data: string; readonly starting: Promise<Started> }>()

/** The same server with the gate in between, which observes: nothing is refused, everything is recorded. */
export async function behindGate(name: string, server: Link, client: Via): Promise<Gated> {
  if (client === 'http') return overHttp(name, server)
  if (server.via !== 'stdio') throw new Error('wrap starts a command')
  const data = mkdtempSync(join(folder, 'wrap-'))
  const { command, args, env } = server
  const wrap = [CLI, 'wrap', '--name', name, '--data', data, '--', command, ...args]
  return {
    link: { via: 'stdio', command: process.execPath, args: wrap, ...(env && { env }) },
    capsules: async () => capsulesIn(join(data, 'journal')),
  }
}

/** One gate for all clients of a server; it starts a process for each of them where the server is a command. */
async function overHttp(name: string, server: Link): Promise<Gated> {
  const key = JSON.stringify([name, server])
  const known = started.get(key)
  const data = known?.data ?? mkdtempSync(join(folder, 'serve-'))
  const starting = known?.starting ?? startGate(configFor(name, server, data), OBSERVING)
  started.set(key, { data, starting })
  const { agentsUrl } = await starting
  return {
    link: { via: 'http', url: `${agentsUrl}/mcp/${name}` },
    capsules: async () => capsulesIn(join(data, 'journal')),
  }
}

const OBSERVING = { judged: 'by_nothing', report: () => undefined } as const

function configFor(name: string, server: Link, data: string): GateConfig {
  const loaded = loadConfig(null, {
    GATE_DATA_DIR: JSON.stringify(data),
    GATE_LISTENERS__DATA__PORT: '0',
    GATE_LISTENERS__ADMIN__PORT: '0',
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const to =
    server.via === 'http'
      ? ({ kind: 'url', url: server.url, ca_file: null, credential: null } as const)
      : ({
          kind: 'command',
          command: [server.command, ...server.args],
          cwd: null,
          env: [],
        } as const)
  return { ...loaded.config, mcp: { [name]: { ...DEFAULT_TERMS, to } } }
}

const capsulesIn = (journal: string): number =>
  readdirSync(journal)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => readFileSync(join(journal, file), 'utf8').split('"type":"CAPSULE"').length - 1)
    .reduce((sum, count) => sum + count, 0)

/** Ends the gates that were started. */
export async function stopGates(): Promise<void> {
  for (const { starting } of started.values()) await (await starting).close(0)
  rmSync(folder, { recursive: true, force: true })
}
