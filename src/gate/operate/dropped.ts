import { plainEntry } from '../../core/journal/entry.js'
import type { Parts } from '../context.js'

export type Dropped = {
  /** A network address, or the agent. */
  readonly source: string
  /** Whose reports went unrecorded; absent: connections that were closed unread. */
  readonly agent?: string
  readonly count: number
  readonly windowSeconds: number
}

/** One counted event per source and window instead of a capsule for each (DESIGN §7). */
export async function recordDropped(
  { source, agent, count, windowSeconds }: Dropped,
  { journal, tenant }: Pick<Parts, 'journal' | 'tenant'>,
): Promise<void> {
  const source_hash = tenant.sourceHash(source)
  const whose = agent === undefined ? {} : { agent }
  const members = { source_hash, count, window_seconds: windowSeconds, ...whose }
  await journal.append([plainEntry('REFUSALS_DROPPED', members)])
}
