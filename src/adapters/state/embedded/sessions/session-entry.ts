import type { Session } from '../../../../ports/state.js'

/** An open session, as lines say. */
export type Folded = {
  openedAt: string
  usedAt: string
  lastStep: number
  mismatches: number
  gap: string | null
  readonly mandates: Set<string>
  /** Requests to people that stop it while they are open. */
  holds: { readonly approvalId: string; readonly holds: 'session' | 'call' }[]
}
/** The same with what is committed and has no line yet. */
export type Entry = {
  readonly sessionId: string
  readonly agent: string
  /** Null where no line says so yet. */
  folded: Folded | null
  lastStep: number
  usedAt: number
  readonly mandates: Set<string>
  /** The action, or operator, whose append says that it is open; null where none does yet. */
  opener: string | null
  /** Declarations of another mission whose lines are on their way. */
  readonly mismatched: Set<string>
  /** What closes it, because it is idle; the line that says so follows. */
  ending: string | null
  /** How often this process stopped it where the line that says so has not followed yet. */
  stops: number
}

export const createEntry = (sessionId: string, agent: string, usedAt: number): Entry => ({
  sessionId,
  agent,
  folded: null,
  lastStep: 0,
  usedAt,
  mandates: new Set(),
  opener: null,
  mismatched: new Set(),
  ending: null,
  stops: 0,
})

export const createFolded = (at: string): Folded => ({
  openedAt: at,
  usedAt: at,
  lastStep: 0,
  mismatches: 0,
  gap: null,
  mandates: new Set(),
  holds: [],
})

/** As the gate sees it. */
export function sessionOf(entry: Entry, heldBy: string | null): Session {
  const { sessionId, agent, folded, lastStep, mandates } = entry
  const usedAt = new Date(entry.usedAt).toISOString()
  return {
    sessionId,
    agent,
    openedAt: folded?.openedAt ?? usedAt,
    usedAt,
    lastStep,
    mismatches: folded?.mismatches ?? 0,
    gap: folded?.gap ?? null,
    mandates: [...mandates],
    heldBy,
  }
}
