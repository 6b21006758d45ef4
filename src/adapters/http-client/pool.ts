import type { Observation } from '../../core/capsule/observation.js'
import { notSent } from '../../ports/dispatch.js'
import type { UpstreamStats } from '../../ports/upstream.js'
import { Connection, type Origin, openConnection } from './connection.js'

const MAX_IDLE = 256
const SWEEP_MS = 1_000

/** Connections at rest between calls to one upstream; the youngest is taken first. */
export function createPool(origin: Origin) {
  const idle: { readonly connection: Connection; readonly until: number }[] = []
  let opened = 0
  let reused = 0
  let closed = false
  let sweeper: NodeJS.Timeout | null = null

  const sweep = (): void => {
    const now = performance.now()
    for (const entry of idle.splice(0)) {
      if (entry.connection.usable && entry.until > now) idle.push(entry)
      else entry.connection.discard()
    }
    sweeper = idle.length === 0 ? null : setTimeout(sweep, SWEEP_MS).unref()
  }

  return {
    async lease(
      kind: 'fresh' | 'pooled',
      deadlineMs: number,
      signal: AbortSignal | undefined,
    ): Promise<Connection | Observation> {
      const started = performance.now()
      while (kind === 'pooled') {
        const entry = idle.pop()
        if (entry === undefined) break
        if (entry.until <= performance.now()) {
          entry.connection.discard()
          continue
        }
        entry.connection.socket.ref()
        if (await entry.connection.quiet()) {
          reused++
          return entry.connection
        }
        entry.connection.discard()
      }
      const left = deadlineMs - (performance.now() - started)
      const connection = await openConnection(origin, left, signal)
      if (!(connection instanceof Connection)) return connection
      opened++
      if (await connection.quiet()) return connection
      connection.discard()
      return notSent('not_quiet')
    },
    /** Keep for the next call, for at most `restMs`. Only after an exchange without any anomaly. */
    rest(connection: Connection, restMs: number): void {
      if (closed || idle.length >= MAX_IDLE || !connection.usable) {
        connection.discard()
        return
      }
      connection.detach()
      connection.socket.resume()
      connection.socket.unref()
      idle.push({ connection, until: performance.now() + restMs })
      sweeper ??= setTimeout(sweep, SWEEP_MS).unref()
    },
    close(): void {
      closed = true
      if (sweeper !== null) clearTimeout(sweeper)
      for (const { connection } of idle.splice(0)) connection.discard()
    },
    stats: (): Omit<UpstreamStats, 'inFlight'> => ({
      idle: idle.filter(({ connection }) => connection.usable).length,
      opened,
      reused,
    }),
  }
}
