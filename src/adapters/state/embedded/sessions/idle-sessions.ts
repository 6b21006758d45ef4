import type { Approvals } from '../approvals.js'

/** An open session, as far as it matters when it was used. */
type Used = {
  readonly sessionId: string
  readonly usedAt: number
  /** What closes it; the line that says so follows. */
  ending: string | null
}

/** Which open sessions were not used for too long. While people are asked about one, its agent waits for them. */
export function createIdle(
  open: ReadonlyMap<string, Used>,
  approvals: Pick<Approvals, 'openIn' | 'openSessions'>,
  idleMs: number,
) {
  /** Ends the session where it is idle at that time; false: it is not, or it is being ended already. */
  function end(sessionId: string, at: number, by: string): boolean {
    const entry = open.get(sessionId)
    if (entry === undefined || entry.ending !== null || at - entry.usedAt <= idleMs) return false
    if (approvals.openIn(sessionId) > 0) return false
    entry.ending = by
    return true
  }
  return {
    end,
    /** When each of them is idle, unless it is used before. */
    from(): ReadonlyMap<string, number> {
      const asked = approvals.openSessions()
      const from = new Map<string, number>()
      for (const { sessionId, usedAt, ending } of open.values()) {
        if (ending === null && !asked.has(sessionId)) from.set(sessionId, usedAt + idleMs + 1)
      }
      return from
    },
  }
}
