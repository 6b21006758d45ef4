import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { rmSync } from '../../adapters/disk/files.js'
import { createStdioServer, type StdioConnection } from '../../adapters/stdio/server.js'
import type { GateConfig } from '../../config/model.js'
import type { GateReport } from '../../gate/context.js'
import { createMetrics } from '../../mounts/admin/routes/metrics.js'
import { type ClientEnd, MAX_SERVER_MESSAGE, type Sender } from '../../mounts/mcp/options.js'
import { createSession, type Session } from '../../mounts/mcp/session.js'
import type { McpEnd, McpListener } from '../../ports/mcp.js'
import { attachAdmin } from '../admin.js'
import { systemClock } from '../clock.js'
import { type ConfiguredGate, createGate } from '../create-gate.js'
import { DEFAULT_TERMS, servedAs } from '../mcp/served.js'
import type { Hello } from './frames.js'
import { serveInstance } from './serve-instance.js'

/** A command to put behind the gate, and for whom. */
export type Wrapping = Omit<Hello, 'say'>
export type Wrapped = {
  readonly session: Session
  readonly sender: Sender
  kill(signal: NodeJS.Signals): void
}
export type Owner = {
  readonly gate: ConfiguredGate
  /** Starts the command and opens a session with it. */
  wrap(wrapping: Wrapping, client: ClientEnd, stderr: (chunk: Uint8Array) => void): Promise<Wrapped>
  /** Ends what other instances have here, with word that they go on by themselves. */
  close(): Promise<void>
}

export const socketPath = (dataDir: string): string => join(dataDir, 'wrap.sock')

/**
 * The instance that holds the data folder: budgets, keys, pins and halts hold for all that wrap a command with
 * the same folder, because the others come to it.
 */
export async function startOwner(
  config: GateConfig,
  options: {
    readonly judged: 'by_files' | 'by_nothing'
    readonly report: (event: GateReport) => void
  },
): Promise<Owner> {
  const { judged, report } = options
  const gate = await createGate(config, { judged, report, approvals: judged === 'by_files' })
  const attached: { close(): Promise<void> }[] = []
  const instances = new Set<{ leave(): Promise<void> }>()
  try {
    const link = judged === 'by_files' ? await openAdmin(gate, config, report, attached) : null
    const owner: Owner = {
      gate,
      wrap: (wrapping, client, stderr) => wrap(wrapping, client, stderr),
      async close() {
        await Promise.all([...instances].map((one) => one.leave()))
        for (const one of attached) await one.close()
        await gate.close()
      },
    }
    async function wrap(
      { name, agent, command, args, cwd, env }: Wrapping,
      client: ClientEnd,
      stderr: (chunk: Uint8Array) => void,
    ): Promise<Wrapped> {
      let child: StdioConnection | null = null
      const maxMessageBytes = MAX_SERVER_MESSAGE
      const to = createStdioServer({
        name,
        command,
        args,
        cwd,
        env,
        maxMessageBytes,
        stderr,
        report,
      })
      const started = {
        ...to,
        connect(listener: McpListener): StdioConnection {
          const opened = to.connect(listener)
          child = opened
          return opened
        },
      }
      const session = createSession(
        servedAs(name, config.mcp[name] ?? DEFAULT_TERMS, started),
        client,
        {
          gate,
          hashing: nodeCrypto,
          messageBytes: config.limits.body_bytes,
          approvalLink: (id) => (link === null ? null : `${link}/approvals/${id}`),
        },
      )
      const caller = { bearer: null, certificate: null, asserted: agent, source: 'stdio' }
      const sender = { caller, identified: await gate.identify(caller) }
      return { session, sender, kill: (signal) => child?.kill(signal) }
    }
    attached.push(
      await listenFor(config.data_dir, (socket) => {
        const instance = serveInstance(socket, owner, config.limits.body_bytes)
        instances.add(instance)
        socket.once('close', () => instances.delete(instance))
      }),
    )
    return owner
  } catch (error) {
    for (const one of attached) await one.close()
    await gate.close()
    throw error
  }
}

/** Where people decide; the operator says under which address they reach it. */
async function openAdmin(
  gate: ConfiguredGate,
  config: GateConfig,
  report: (event: GateReport) => void,
  attached: { close(): Promise<void> }[],
): Promise<string> {
  const admin = await attachAdmin(gate, config, { metrics: createMetrics(systemClock), report })
  attached.push(admin)
  const { host, public_url } = config.listeners.admin
  return public_url ?? `http://${host.includes(':') ? `[${host}]` : host}:${admin.admin.port}`
}

/** Only this user's processes may connect; the lock of the folder says that no other instance listens here. */
async function listenFor(
  dataDir: string,
  connected: (socket: Socket) => void,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dataDir)
  rmSync(path, { force: true })
  const server: Server = createServer(connected)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const before = process.umask(0o177)
    try {
      server.listen(path, () => resolve())
    } finally {
      process.umask(before)
    }
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
      }),
  }
}

/** The exit code of the command, as a shell would tell it. */
export const exitCodeOf = ({ code, signal, why }: McpEnd): number => {
  if (typeof code === 'number') return code
  if (signal === 'SIGINT') return 130
  if (signal === 'SIGTERM') return 143
  if (signal === 'SIGHUP') return 129
  return why === 'start_failed' ? 127 : 1
}
