import type { LineOf } from '../../../core/journal/vocabulary.js'
import type { CommitOutcome, CommitRequest, Session, Standing } from '../../../ports/state.js'
import type { Approvals } from './approvals.js'
import type { SessionDump } from './dump.js'
import type { Governed } from './governed.js'
import { sortedValues } from './maps.js'
import { createReplayIndex, replayKey } from './replay-index.js'

/** An open session, as lines say; null where none does yet. */
type Folded = {
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
type Entry = {
  readonly sessionId: string
  readonly agent: string
  folded: Folded | null
  lastStep: number
  usedAt: number
  readonly mandates: Set<string>
  /** Stopped by this process; the line that says so follows. */
  stopped: boolean
}
/** What was committed and has no line yet. */
type Reserved = CommitRequest & { readonly key: string }

/** How many recent commits are kept with their action, so that a caller whose connection broke finds it. */
const RECENT = 4096

export type Sessions = ReturnType<typeof createSessions>

/**
 * Sessions and the declarations committed in them, as a fold. A commit counts at once for every other call; until
 * its IDP_SUBMITTED line is folded it is in memory alone, and a crash forgets it, because nothing was sent.
 */
export function createSessions(
  { approvals, governed }: { readonly approvals: Approvals; readonly governed: Governed },
  idleMs: number,
) {
  const open = new Map<string, Entry>()
  const over = createReplayIndex()
  const index = createReplayIndex()
  const reserved = new Map<string, Reserved>()
  /** Keys of what is reserved, and of what was committed last, with their actions. */
  const actions = new Map<string, string>()

  const remember = (key: string, actionId: string): void => {
    actions.delete(key)
    actions.set(key, actionId)
    const [oldest] = actions.keys()
    if (actions.size > RECENT + reserved.size && oldest !== undefined) actions.delete(oldest)
  }
  /** One that is open is not over: no line opens a session again. */
  const isOver = (sessionId: string): boolean =>
    !open.has(sessionId) && over.has(replayKey('session', sessionId))

  function begin(sessionId: string, agent: string, usedAt: number): Entry {
    const mandates = new Set<string>()
    const entry = { sessionId, agent, folded: null, lastStep: 0, usedAt, mandates, stopped: false }
    open.set(sessionId, entry)
    return entry
  }

  /** The session that a line says is open; null for one that was closed while this line was on its way. */
  function foldedAt(sessionId: string, agent: string, at: string): Folded | null {
    if (isOver(sessionId)) return null
    const time = Date.parse(at)
    const entry = open.get(sessionId) ?? begin(sessionId, agent, time)
    entry.folded ??= {
      openedAt: at,
      usedAt: at,
      lastStep: 0,
      mismatches: 0,
      gap: null,
      mandates: new Set(),
      holds: [],
    }
    if (entry.folded.usedAt < at) entry.folded.usedAt = at
    entry.usedAt = Math.max(entry.usedAt, time)
    return entry.folded
  }

  /** What stops the session now: an open request to people, or a gap that none was opened for yet. */
  function heldBy(entry: Entry): string | null {
    for (const { approvalId, holds } of entry.folded?.holds ?? []) {
      const state = approvals.get(approvalId)?.state.kind
      if (state === 'pending' || (state === 'approved' && holds === 'session')) return approvalId
    }
    return entry.folded?.gap ?? (entry.stopped ? entry.sessionId : null)
  }

  function commit(request: CommitRequest): CommitOutcome {
    const { sessionId, agent, soId, idpId, step, mandateId, actionId, at } = request
    const key = replayKey(soId, idpId)
    const name = key.toString('latin1')
    if (index.has(key) || isReserved(name)) {
      return { kind: 'duplicate', actionId: actions.get(name) ?? null }
    }
    if (isOver(sessionId)) return { kind: 'session', why: 'over' }
    const known = open.get(sessionId)
    if (known !== undefined && known.agent !== agent) return { kind: 'session', why: 'foreign' }
    if (known !== undefined && at - known.usedAt > idleMs) return { kind: 'session', why: 'idle' }
    if (known !== undefined && step <= known.lastStep) return { kind: 'step', last: known.lastStep }
    const entry = known ?? begin(sessionId, agent, at)
    const presents = !entry.mandates.has(mandateId)
    entry.mandates.add(mandateId)
    entry.lastStep = step
    entry.usedAt = Math.max(entry.usedAt, at)
    reserved.set(actionId, { ...request, key: name })
    remember(name, actionId)
    return { kind: 'committed', opens: known === undefined, presents, heldBy: heldBy(entry) }
  }
  const isReserved = (name: string): boolean => {
    const actionId = actions.get(name)
    return actionId !== undefined && reserved.get(actionId)?.key === name
  }

  return {
    commit,
    /** The step stays used: a later one may stand on it. The id may come again. */
    release(actionId: string): void {
      const gone = reserved.get(actionId)
      if (gone === undefined) return
      reserved.delete(actionId)
      actions.delete(gone.key)
      const entry = open.get(gone.sessionId)
      if (entry === undefined || entry.folded !== null) return
      const others = [...reserved.values()].some(({ sessionId }) => sessionId === gone.sessionId)
      if (!others) open.delete(gone.sessionId)
    },
    committed(soId: string, idpId: string): { readonly actionId: string | null } | null {
      const key = replayKey(soId, idpId)
      const name = key.toString('latin1')
      if (!index.has(key) && !isReserved(name)) return null
      return { actionId: actions.get(name) ?? null }
    },
    stop(sessionId: string): void {
      const entry = open.get(sessionId)
      if (entry !== undefined) entry.stopped = true
    },
    get: (sessionId: string): Session | null => {
      const entry = open.get(sessionId)
      return entry === undefined ? null : shown(entry)
    },
    all: (): Session[] => sortedValues(open).map(shown).sort(oldestFirst),
    isOver,
    stillStands({ sessionId, mandateId, missionRef, approvalId }: Standing): boolean {
      const entry = open.get(sessionId)
      if (entry === undefined || isOver(sessionId)) return false
      const held = heldBy(entry)
      if (held !== null && held !== approvalId) return false
      if (governed.isRevoked(mandateId)) return false
      return missionRef === null || governed.mission(missionRef) === null
    },
    sizes: () => ({ ids: index.size(), bytes: index.bytes() + over.bytes(), open: open.size }),

    opened({ session_id, agent, at }: LineOf<'SESSION_OPENED'>): void {
      foldedAt(session_id, agent, at)
    },
    closed({ session_id }: LineOf<'SESSION_CLOSED'>): void {
      open.delete(session_id)
      over.add(replayKey('session', session_id))
    },
    resumed({ session_id }: LineOf<'SESSION_RESUMED'>): void {
      const entry = open.get(session_id)
      if (entry === undefined) return
      entry.stopped = false
      const { folded } = entry
      if (folded === null) return
      folded.gap = null
      folded.mismatches = 0
      folded.holds = folded.holds.filter(({ holds }) => holds === 'call')
    },
    presented({ session_id, agent, mandate_id, at }: LineOf<'MANDATE_PRESENTED'>): void {
      foldedAt(session_id, agent, at)?.mandates.add(mandate_id)
      open.get(session_id)?.mandates.add(mandate_id)
    },
    submitted(line: LineOf<'IDP_SUBMITTED'>): void {
      const { session_id, so_id, idp_id, step_sequence: step, action_id } = line
      // The key of this process's own commit was computed there.
      const name = reserved.get(action_id)?.key ?? replayKey(so_id, idp_id).toString('latin1')
      index.add(Buffer.from(name, 'latin1'))
      reserved.delete(action_id)
      remember(name, action_id)
      const folded = foldedAt(session_id, line.agent, line.at)
      if (folded === null) return
      folded.lastStep = Math.max(folded.lastStep, step)
      const entry = open.get(session_id)
      if (entry !== undefined) entry.lastStep = Math.max(entry.lastStep, step)
    },
    mismatched({ session_id, at }: LineOf<'IDP_MISSION_REF_MISMATCH_REJECTED'>): void {
      const agent = open.get(session_id)?.agent
      const folded = agent === undefined ? null : foldedAt(session_id, agent, at)
      if (folded !== null) folded.mismatches++
    },
    gap({ session_id, record }: LineOf<'IDP_COMMITMENT_GAP'>): void {
      const folded = open.get(session_id)?.folded
      if (folded != null) folded.gap = record.state_transition_id
    },
    asked({ session_id, approval_id, holds }: LineOf<'APPROVAL_OPENED'>): void {
      const folded = session_id === undefined ? null : open.get(session_id)?.folded
      if (holds === undefined || folded == null) return
      folded.holds = [...stillOpen(folded), { approvalId: approval_id, holds }]
    },
    dump: (): SessionDump => ({
      open: sortedValues(open).flatMap(({ sessionId, agent, folded }) =>
        folded === null
          ? []
          : [
              {
                ...folded,
                sessionId,
                agent,
                mandates: [...folded.mandates].sort(),
                holds: stillOpen(folded),
              },
            ],
      ),
      over: over.dump(),
      ids: index.dump(),
    }),
    load(dump: SessionDump): void {
      open.clear()
      reserved.clear()
      actions.clear()
      for (const { sessionId, agent, mandates, holds, ...rest } of dump.open) {
        const entry = begin(sessionId, agent, Date.parse(rest.usedAt))
        entry.lastStep = rest.lastStep
        for (const id of mandates) entry.mandates.add(id)
        entry.folded = { ...rest, mandates: new Set(mandates), holds: [...holds] }
      }
      over.load(dump.over)
      index.load(dump.ids)
    },
  }

  function stillOpen({ holds }: Folded): Folded['holds'] {
    return holds.filter(({ approvalId }) => {
      const approval = approvals.get(approvalId)
      return approval !== null && approval.state.kind !== 'closed'
    })
  }
  function shown(entry: Entry): Session {
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
      heldBy: heldBy(entry),
    }
  }
}

const oldestFirst = (a: Session, b: Session): number =>
  a.openedAt < b.openedAt ? -1 : a.openedAt > b.openedAt ? 1 : 0
