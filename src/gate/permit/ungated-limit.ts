import type { Parts } from '../context.js'
import { recordDropped } from '../operate/dropped.js'

export type UngatedLimit = {
  /** Whether one more report of this agent is recorded; if not, it is counted. */
  take(agent: string): boolean
  /** Ends the window now. */
  stop(): Promise<void>
}

/** Reports without a permit cost a capsule each, and an agent can make up as many as it likes. */
export const MOST_UNGATED = 20
const WINDOW_SECONDS = 60

/** Above the limit a window ends with one counted event per agent instead of a capsule for each report. */
export function limitUngated(
  parts: Pick<Parts, 'timer' | 'report' | 'journal' | 'tenant'>,
): UngatedLimit {
  let seen = new Map<string, { recorded: number; dropped: number }>()
  let cancel: (() => void) | null = null

  async function endWindow(): Promise<void> {
    cancel?.()
    cancel = null
    const ended = seen
    seen = new Map()
    for (const [agent, { dropped: count }] of ended) {
      if (count === 0) continue
      await recordDropped({ source: agent, agent, count, windowSeconds: WINDOW_SECONDS }, parts)
    }
  }
  const begin = (): (() => void) =>
    parts.timer.after(WINDOW_SECONDS * 1000, () => {
      endWindow().catch((error: unknown) =>
        parts.report({ level: 'error', event: 'count_not_written', detail: String(error) }),
      )
    })

  return {
    take(agent) {
      cancel ??= begin()
      const of = seen.get(agent) ?? { recorded: 0, dropped: 0 }
      seen.set(agent, of)
      const within = of.recorded < MOST_UNGATED
      if (within) of.recorded++
      else of.dropped++
      return within
    },
    stop: endWindow,
  }
}
