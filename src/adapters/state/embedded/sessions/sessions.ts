import type { LineOf } from '../../../../core/journal/vocabulary.js'
import type {
  CommitOutcome,
  CommitRequest,
  MismatchOutcome,
  MismatchRequest,
  Session,
  SessionOpening,
  Standing,
} from '../../../../ports/state.js'
import type { Approvals } from '../approvals.js'
import type { SessionDump } from '../dump.js'
import type { Governed } from '../governed.js'
import { byOpening, sortedValues } from '../maps.js'
import { createBoundMandates } from './bound-mandates.js'
import { createCommittedIds } from './committed-ids.js'
import { createIdle } from './idle-sessions.js'
import { createReplayIndex, replayKey } from './replay-index.js'
import { createEntry, createFolded, type Entry, type Folded, sessionOf } from './session-entry.js'

/** What opens or closes a session where no action does. */
const OPERATOR = 'operator'
const TIMER = 'timer'

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
  const idle = createIdle(open, approvals, idleMs)
  const over = createReplayIndex()
  const ids = createCommittedIds()
  const bound = createBoundMandates()
  /** Sessions in which an action has begun something, other than a commit, that has no line yet. */
  const begun = new Map<string, Entry>()

  /** One that is open is not closed: no line opens a session again. */
  const isClosed = (sessionId: string): boolean =>
    !open.has(sessionId) && over.has(replayKey('session', sessionId))
  const isOver = (sessionId: string): boolean =>
    open.get(sessionId)?.ending != null || isClosed(sessionId)

  function begin(sessionId: string, agent: string, usedAt: number): Entry {
    const entry = createEntry(sessionId, agent, usedAt)
    open.set(sessionId, entry)
    return entry
  }

  /** The session that a line says is open; null for one that was closed while this line was on its way. */
  function foldedAt(sessionId: string, agent: string, at: string): Folded | null {
    if (isClosed(sessionId)) return null
    const time = Date.parse(at)
    const entry = open.get(sessionId) ?? begin(sessionId, agent, time)
    entry.folded ??= createFolded(at)
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
    return entry.folded?.gap ?? (entry.stops > 0 ? entry.sessionId : null)
  }

  const shown = (entry: Entry): Session => sessionOf(entry, heldBy(entry))

  function commit(request: CommitRequest): CommitOutcome {
    const { sessionId, agent, soId, idpId, step, mandateId, actionId, at } = request
    const name = ids.nameOf(soId, idpId)
    const earlier = ids.find(name)
    if (earlier !== null) return { kind: 'duplicate', ...earlier }
    const why = closedTo(request)
    if (why !== null) return { kind: 'session', why }
    const known = open.get(sessionId)
    if (known !== undefined && step <= known.lastStep) return { kind: 'step', last: known.lastStep }
    const entry = known ?? begin(sessionId, agent, at)
    const opens = takesOpening(entry, actionId)
    const presents = !entry.mandates.has(mandateId)
    entry.mandates.add(mandateId)
    bound.bind(sessionId, mandateId)
    entry.lastStep = step
    entry.usedAt = Math.max(entry.usedAt, at)
    ids.reserve(name, request)
    return { kind: 'committed', opens, presents, heldBy: heldBy(entry) }
  }

  /** Why it takes nothing from this agent now. Of many that find it idle, one closes it. */
  function closedTo({ sessionId, agent, mandateId, actionId, at }: MismatchRequest) {
    if (isOver(sessionId)) return 'over'
    const known = open.get(sessionId)
    if (known !== undefined && known.agent !== agent) return 'foreign'
    const holder = bound.holderOf(mandateId)
    if (holder !== null && holder !== sessionId && !isOver(holder)) return 'bound'
    if (known === undefined) return null
    if (!idle.end(sessionId, at, actionId)) return null
    begun.set(actionId, known)
    return 'idle'
  }

  function takesOpening(entry: Entry, actionId: string): boolean {
    if (entry.folded !== null || entry.opener !== null) return false
    entry.opener = actionId
    return true
  }

  function mismatch(request: MismatchRequest): MismatchOutcome {
    const why = closedTo(request)
    if (why !== null) return { kind: 'session', why }
    const { sessionId, agent, mandateId, actionId, at } = request
    const entry = open.get(sessionId) ?? begin(sessionId, agent, at)
    bound.bind(sessionId, mandateId)
    const opens = takesOpening(entry, actionId)
    entry.mismatched.add(actionId)
    begun.set(actionId, entry)
    const mismatches = (entry.folded?.mismatches ?? 0) + entry.mismatched.size
    return { kind: 'counted', opens, mismatches }
  }

  /** The action's lines were not written: another one opens the session, or it was never open. */
  function opensNot(entry: Entry, actionId: string): void {
    if (entry.opener === actionId) entry.opener = null
    const isUsed =
      entry.folded !== null || entry.mismatched.size > 0 || ids.isReservedIn(entry.sessionId)
    if (isUsed || open.get(entry.sessionId) !== entry) return
    open.delete(entry.sessionId)
    bound.drop(entry.sessionId)
  }

  return {
    commit,
    mismatch,
    /** What an action that ended had begun without a line; its commit is taken back by `release`. */
    abandon(actionId: string): void {
      const entry = begun.get(actionId)
      if (entry === undefined) return
      begun.delete(actionId)
      if (entry.ending === actionId) entry.ending = null
      if (entry.mismatched.delete(actionId)) opensNot(entry, actionId)
    },
    /** The step stays used: a later one may stand on it. The id may come again. */
    release(actionId: string): void {
      const gone = ids.free(actionId)
      if (gone === null) return
      const entry = open.get(gone.sessionId)
      if (entry === undefined) return
      // The line that was to present its mandate is not there: the next call presents it.
      if (entry.folded?.mandates.has(gone.mandateId) !== true) entry.mandates.delete(gone.mandateId)
      bound.release(gone.sessionId, gone.mandateId)
      opensNot(entry, actionId)
    },
    committed: (soId: string, idpId: string) => ids.find(ids.nameOf(soId, idpId)),
    open(sessionId: string, agent: string, at: number): SessionOpening {
      if (isOver(sessionId)) return 'over'
      const known = open.get(sessionId)
      if (known !== undefined) return known.agent === agent ? 'open' : 'foreign'
      takesOpening(begin(sessionId, agent, at), OPERATOR)
      return 'opened'
    },
    releaseOpening(sessionId: string): void {
      const entry = open.get(sessionId)
      if (entry !== undefined) opensNot(entry, OPERATOR)
    },
    closeIdle: (sessionId: string, at: number): boolean => idle.end(sessionId, at, TIMER),
    idleFrom: idle.from,
    stop(sessionId: string): void {
      const entry = open.get(sessionId)
      if (entry !== undefined) entry.stops++
    },
    get: (sessionId: string): Session | null => {
      const entry = open.get(sessionId)
      return entry === undefined || entry.ending !== null ? null : shown(entry)
    },
    all: (): Session[] =>
      sortedValues(open)
        .filter(({ ending }) => ending === null)
        .map(shown)
        .sort(byOpening),
    isOver,
    stillStands({ sessionId, mandateId, missionRef, object }: Standing): boolean {
      if (sessionId !== null && !goesOn(sessionId)) return false
      if (governed.isRevoked(mandateId)) return false
      if (object !== null && governed.judged(object.soId) !== object.state) return false
      return missionRef === null || governed.mission(missionRef) === null
    },
    sizes: () => ({ ids: ids.size(), bytes: ids.bytes() + over.bytes(), open: open.size }),

    opened({ session_id, agent, at }: LineOf<'SESSION_OPENED'>): void {
      foldedAt(session_id, agent, at)
    },
    used(sessionId: string, at: string): void {
      const entry = open.get(sessionId)
      if (entry?.folded != null) foldedAt(sessionId, entry.agent, at)
    },
    closed({ session_id }: LineOf<'SESSION_CLOSED'>): void {
      open.delete(session_id)
      bound.drop(session_id)
      over.add(replayKey('session', session_id))
    },
    /** Of what stopped it before or since, and of which people are asked apart, nobody has said anything. */
    resumed({ session_id, approval_id, at }: LineOf<'SESSION_RESUMED'>): void {
      const entry = open.get(session_id)
      if (entry?.folded == null) return
      const folded = foldedAt(session_id, entry.agent, at)
      if (folded === null) return
      folded.gap = null
      folded.mismatches = 0
      folded.holds = folded.holds.filter(({ approvalId }) => approvalId !== approval_id)
    },
    presented({ session_id, agent, mandate_id, at }: LineOf<'MANDATE_PRESENTED'>): void {
      const folded = foldedAt(session_id, agent, at)
      folded?.mandates.add(mandate_id)
      open.get(session_id)?.mandates.add(mandate_id)
      if (folded !== null) bound.bind(session_id, mandate_id, true)
    },
    submitted(line: LineOf<'IDP_SUBMITTED'>): void {
      const { session_id, step_sequence: step } = line
      ids.submitted(line)
      const folded = foldedAt(session_id, line.agent, line.at)
      if (folded === null) return
      folded.lastStep = Math.max(folded.lastStep, step)
      const entry = open.get(session_id)
      if (entry !== undefined) entry.lastStep = Math.max(entry.lastStep, step)
    },
    mismatched(line: LineOf<'IDP_MISSION_REF_MISMATCH_REJECTED'>): void {
      const entry = open.get(line.session_id)
      entry?.mismatched.delete(line.action_id)
      // Its SESSION_OPENED stands before it, or the session is over.
      const folded = entry?.folded == null ? null : foldedAt(entry.sessionId, entry.agent, line.at)
      if (folded === null) return
      folded.mismatches++
      bound.bind(line.session_id, line.mandate_id, true)
    },
    gap({ session_id, record }: LineOf<'IDP_COMMITMENT_GAP'>): void {
      const entry = open.get(session_id)
      if (entry === undefined) return
      if (entry.stops > 0) entry.stops--
      if (entry.folded !== null) entry.folded.gap = record.state_transition_id
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
                bound: bound.onRecord(sessionId),
                holds: stillOpen(folded),
              },
            ],
      ),
      over: over.dump(),
      ids: ids.dump(),
    }),
    load(dump: SessionDump): void {
      open.clear()
      begun.clear()
      bound.clear()
      for (const { sessionId, agent, mandates, bound: own, holds, ...rest } of dump.open) {
        const entry = begin(sessionId, agent, Date.parse(rest.usedAt))
        entry.lastStep = rest.lastStep
        for (const id of mandates) entry.mandates.add(id)
        for (const id of own) bound.bind(sessionId, id, true)
        entry.folded = { ...rest, mandates: new Set(mandates), holds: [...holds] }
      }
      over.load(dump.over)
      ids.load(dump.ids)
    },
  }

  /** What a person granted holds its session no longer. */
  function goesOn(sessionId: string): boolean {
    const entry = open.get(sessionId)
    return entry !== undefined && !isOver(sessionId) && heldBy(entry) === null
  }
  function stillOpen({ holds }: Folded): Folded['holds'] {
    return holds.filter(({ approvalId }) => {
      const approval = approvals.get(approvalId)
      return approval !== null && approval.state.kind !== 'closed'
    })
  }
}
