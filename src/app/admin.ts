import { nodeCrypto } from '../adapters/crypto-node.js'
import { hashToken, readTokens } from '../adapters/identity/tokens.js'
import { watchTokenFile } from '../adapters/identity/watch-tokens.js'
import type { GateConfig, SourceConfig } from '../config/model.js'
import { readSecret } from '../config/secret-ref.js'
import type { GateReport } from '../gate/context.js'
import type { Gate } from '../gate/gate.js'
import type { Sources } from '../mounts/admin/approvals/sources.js'
import { DECISIONS_PER_MINUTE, decisionLimits } from '../mounts/admin/limits.js'
import { createReadiness } from '../mounts/admin/readiness.js'
import type { Metrics } from '../mounts/admin/routes/metrics.js'
import { createAdmin, createMetricsListener } from '../mounts/admin/server.js'
import type { AdminTokens } from '../ports/admin.js'
import { systemClock, systemIds } from './clock.js'

/** Metrics are given without a token, so on this host alone (DESIGN §7). */
const LOOPBACK = '127.0.0.1'

export type Attached = Awaited<ReturnType<typeof attachAdmin>>

/** The admin plane of a running gate, as gate.yaml has it; SIGUSR2 halts everything. */
export async function attachAdmin(
  gate: Gate,
  config: Pick<GateConfig, 'approvals' | 'data_dir' | 'listeners' | 'upstreams'>,
  options: {
    readonly metrics: Metrics
    readonly report: (event: GateReport) => void
    readonly dataPlane?: () => boolean
  },
) {
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
    readiness: createReadiness({ gate, upstreams, dataPlane }),
    tokens,
    crypto: nodeCrypto,
    clock: systemClock,
    ids: systemIds(systemClock),
    sources: approvalSources(config.approvals.sources, tokens, process.env),
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
  /** A user who may signal the process owns it; the journal says that it was a signal. */
  const halt = (): void => {
    gate.halt({ kind: 'all' }, 'SIGUSR2').then(
      () => report({ level: 'warn', event: 'halted', detail: 'all, by SIGUSR2' }),
      (error: unknown) => report({ level: 'error', event: 'halt_failed', detail: String(error) }),
    )
  }
  process.on('SIGUSR2', halt)
  return {
    admin,
    metrics: scrape,
    async close(): Promise<void> {
      process.off('SIGUSR2', halt)
      if (scrape !== null) await scraped.close()
      await server.close()
    },
  }
}

/** The tokens of a data folder. */
export const adminTokens = (dir: string, failed: (error: unknown) => void): AdminTokens => ({
  hash: hashToken,
  held: watchTokenFile(
    dir,
    (folder) =>
      new Map(
        readTokens(folder).map(({ sha256, role, name, groups, machine }) => [
          sha256,
          role === 'agent' ? null : { name, role, groups, machine: machine === true },
        ]),
      ),
    failed,
  ),
})

/** gate.yaml's approval systems; their secrets are read for every message. */
export const approvalSources = (
  sources: { readonly [name: string]: SourceConfig },
  tokens: Sources['tokens'],
  env: Readonly<Record<string, string | undefined>>,
  perMinute = DECISIONS_PER_MINUTE,
): Sources => {
  const byName = Object.entries(sources).map(([name, { secret: ref, ...source }]) => {
    const secret = (): string | null => {
      const found = readSecret(ref, env)
      return found.ok ? found.value : null
    }
    return [name, { ...source, secret }] as const
  })
  const limits = decisionLimits(perMinute)
  return { byName: new Map(byName), tokens, limits, deliveries: new Map() }
}
