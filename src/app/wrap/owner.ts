import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { rmSync } from '../../adapters/disk/files.js'
import type { GateConfig } from '../../config/model.js'
import { GateError } from '../../core/error.js'
import type { GateReport } from '../../gate/context.js'
import { createMetrics } from '../../mounts/admin/routes/metrics.js'
import { attachAdmin } from '../admin.js'
import { systemClock } from '../clock.js'
import { type ConfiguredGate, type CreateOptions, createGate } from '../create-gate.js'
import { createWrapper, type Wrapper } from './command.js'
import { serveInstance } from './serve-instance.js'

export type Owner = {
  readonly gate: ConfiguredGate
  /** Starts the command and opens a session with it. */
  readonly wrap: Wrapper
  /** Ends what other instances have here, with word that they go on by themselves. */
  close(): Promise<void>
}

export type OwnerOptions = Pick<CreateOptions, 'seam' | 'recorder'> & {
  readonly judged: 'by_files' | 'by_nothing'
  readonly report: (event: GateReport) => void
}

export const socketPath = (dataDir: string): string => join(dataDir, 'wrap.sock')

/**
 * The instance that holds the data folder: budgets, keys, pins and halts hold for all that wrap a command with
 * the same folder, because the others come to it.
 */
export async function startOwner(
  config: GateConfig,
  { judged, report, seam, recorder }: OwnerOptions,
): Promise<Owner> {
  const gate = await createGate(config, {
    judged,
    report,
    approvals: judged === 'by_files',
    ...(seam === undefined ? {} : { seam }),
    ...(recorder === undefined ? {} : { recorder }),
  })
  const attached: { close(): Promise<void> }[] = []
  const instances = new Set<{ leave(): Promise<void> }>()
  try {
    const link = judged === 'by_files' ? await openAdmin(gate, config, report, attached) : null
    const owner: Owner = {
      gate,
      wrap: createWrapper(gate, config, { link, report }),
      async close() {
        // Nobody comes in any more; who came in is told, and only then is everything closed.
        const closed = attached.map((one) => one.close())
        await Promise.all([...instances].map((one) => one.leave()))
        await Promise.all(closed)
        await gate.close()
      },
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

/** Of sun_path, without its end; a longer one would be cut, and be another file. */
const LONGEST_PATH = 103

/** Only this user's processes may connect; the lock of the folder says that no other instance listens here. */
async function listenFor(
  dataDir: string,
  connected: (socket: Socket) => void,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dataDir)
  if (Buffer.byteLength(path) > LONGEST_PATH) {
    const message = `${path} is longer than the name of a socket may be (${LONGEST_PATH} bytes)`
    throw new GateError('config_invalid', `${message}: choose a data folder with a shorter path`)
  }
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
