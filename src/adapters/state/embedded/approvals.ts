import { expiryOf } from '../../../core/approval/deadline.js'
import type { Capsule } from '../../../core/capsule/model.js'
import type { LineOf } from '../../../core/journal/vocabulary.js'
import type { Approval, Vote } from '../../../ports/state.js'
import type { Dump } from './dump.js'
import { byOpening, sortedValues, sweeper } from './maps.js'
import { createRefusals } from './refusals.js'

/** `before`: the capsule the current parent superseded; a vote line names the one it was cast on. */
type Entry = { readonly approval: Approval; readonly before: string | null }

const requestKey = ({ agent, requestDigest }: Pick<Approval, 'agent' | 'requestDigest'>): string =>
  `${agent}\0${requestDigest}`

const isOpen = ({ state }: Approval): boolean => state.kind !== 'closed'

const oldestFirst = (approvals: readonly Approval[]): Approval[] => [...approvals].sort(byOpening)

export type Approvals = ReturnType<typeof createApprovals>

/**
 * Requests to humans as a fold: opened by an event, moved and closed by capsules, never by a clock.
 * `keepMs`: how long after its deadline a closed one is kept, so that a late caller is told how it ended.
 */
export function createApprovals(keepMs: number) {
  const entries = new Map<string, Entry>()
  /** Ids of those not closed: by the capsule that the next one supersedes, and by request. */
  const byParent = new Map<string, string>()
  const byRequest = new Map<string, readonly string[]>()
  const openByAgent = new Map<string, number>()
  const refusals = createRefusals()
  /** Agents by who is about to open one for them; in memory only, like a claim. */
  const opening = new Map<string, { readonly agent: string; readonly sessionId?: string }>()
  /** One that a person refused is kept while the refusal stands, so that it can be lifted. */
  const gone = ({ approval }: Entry, time: number): boolean =>
    approval.state.kind === 'closed' &&
    Date.parse(approval.deadline.at) + keepMs <= time &&
    (approval.refusedUntil === null || Date.parse(approval.refusedUntil) <= time)
  const sweep = sweeper(entries, gone)

  function put(approval: Approval, before: string | null): void {
    const { approvalId: id } = approval
    const old = entries.get(id)?.approval
    count(approval.agent, Number(isOpen(approval)) - Number(old !== undefined && isOpen(old)))
    if (old !== undefined && byParent.get(old.parent) === id) byParent.delete(old.parent)
    entries.set(id, { approval, before })
    refusals.note(approval)
    const key = requestKey(approval)
    const others = (byRequest.get(key) ?? []).filter((other) => other !== id)
    if (isOpen(approval)) {
      byParent.set(approval.parent, id)
      byRequest.set(key, [id, ...others])
    } else if (others.length > 0) byRequest.set(key, others)
    else byRequest.delete(key)
  }
  function count(agent: string, more: number): void {
    const open = openOf(agent) + more
    if (open === 0) openByAgent.delete(agent)
    else openByAgent.set(agent, open)
  }
  const openOf = (agent: string): number => openByAgent.get(agent) ?? 0
  const openIn = (session: string): number =>
    [...byParent.values()].filter((id) => get(id)?.sessionId === session).length
  const get = (id: string): Approval | null => entries.get(id)?.approval ?? null
  const change = (id: string, to: Partial<Approval>): void => {
    const entry = entries.get(id)
    if (entry !== undefined) put({ ...entry.approval, ...to }, entry.before)
  }

  return {
    get,
    forRequest: (agent: string, requestDigest: string): Approval[] =>
      oldestFirst(
        (byRequest.get(requestKey({ agent, requestDigest })) ?? []).flatMap((id) => get(id) ?? []),
      ).reverse(),
    refusalOf: (
      agent: string,
      identities: () => readonly string[],
      time: number,
    ): Approval | null => get(refusals.find(agent, identities, time) ?? ''),
    openOf,
    open: (): Approval[] => oldestFirst([...byParent.values()].flatMap((id) => get(id) ?? [])),
    ended: (): Approval[] =>
      oldestFirst(
        [...entries.values()]
          .map(({ approval }) => approval)
          .filter((approval) => !isOpen(approval)),
      ),
    mayOpen(
      agent: string,
      by: string,
      most: number,
      session?: { readonly sessionId: string; readonly most: number },
    ): boolean {
      const about = [...opening.values()]
      const others = about.filter((each) => each.agent === agent).length
      if (openOf(agent) + others >= most) return false
      if (session === undefined) {
        opening.set(by, { agent })
        return true
      }
      const { sessionId } = session
      const ofSession = about.filter((each) => each.sessionId === sessionId).length
      if (openIn(sessionId) + ofSession >= session.most) return false
      opening.set(by, { agent, sessionId })
      return true
    },
    opensNot: (by: string) => opening.delete(by),
    opened(line: LineOf<'APPROVAL_OPENED'>): void {
      const approval = openedBy(line)
      put(approval, null)
      opening.delete(approval.approvalId)
    },
    voted(line: LineOf<'APPROVAL_VOTED'>): void {
      const entry = entries.get(line.approval_id)
      if (entry === undefined) return
      const { approval, before } = entry
      const vote = voteOf(line)
      const { on } = line
      if (on === approval.parent && isOpen(approval)) {
        change(approval.approvalId, { votes: [...approval.votes, vote] })
      } else if (on === before) change(approval.approvalId, { decided: vote })
    },
    granted(id: string, grant: string): void {
      if (get(id)?.state.kind !== 'pending') return
      change(id, { state: { kind: 'approved', grant } })
    },
    /** Every refusal of that same call, also where it was asked about twice under other headers. */
    lifted({ approval_id: id }: LineOf<'REFUSAL_LIFTED'>): void {
      const { agent, callIdentity } = get(id) ?? {}
      change(id, { refusedUntil: null })
      if (agent === undefined || callIdentity == null) return
      for (const { approval } of [...entries.values()]) {
        const same = approval.agent === agent && approval.callIdentity === callIdentity
        if (same) change(approval.approvalId, { refusedUntil: null })
      }
      refusals.forget(agent, callIdentity)
    },
    reminded({ approval_id, nth }: LineOf<'APPROVAL_REMINDER'>): void {
      change(approval_id, { reminded: nth })
    },
    /** Returns the approval that this capsule moved on, as it was before: a grant of it ends with it. */
    moved(capsule: Capsule): Approval | null {
      if (capsule.chain?.relation !== 'supersedes') return null
      const before = capsule.chain.parent_capsule_id
      const approval = get(byParent.get(before) ?? '')
      if (approval === null) return null
      put({ ...approval, ...movedBy(approval, capsule) }, before)
      return approval
    },
    openIn,
    /** Sessions that have one that is not closed. */
    openSessions: (): ReadonlySet<string> =>
      new Set([...byParent.values()].flatMap((id) => get(id)?.sessionId ?? [])),
    sweep(time: number): void {
      sweep(time)
      refusals.sweep(time)
    },
    dump: (time: number): Entry[] => sortedValues(entries).filter((entry) => !gone(entry, time)),
    load(dump: Dump['approvals']): void {
      for (const map of [entries, byParent, byRequest, openByAgent]) map.clear()
      refusals.clear()
      opening.clear()
      for (const { approval, before } of dump) {
        const { callIdentity = null, refusedUntil = null } = approval
        put({ ...approval, callIdentity, refusedUntil }, before)
      }
    },
  }
}

/** The next step of an item; deadlines count from the capsule's own timestamp (seed §5.4). */
function movedBy(approval: Approval, capsule: Capsule): Partial<Approval> {
  const { verdict_class, decision, approver, expiry_policy } = capsule.disposition
  const deadline = expiry_policy ?? capsule['dev.capsulegate.deadline']
  if (verdict_class !== 'deferred' && verdict_class !== 'escalated') {
    const { action_id: actionId, capsule_id: capsuleId } = capsule
    const state = { kind: 'closed', actionId, capsuleId, verdict: verdict_class, approver } as const
    // Only a person's refusal (`human`) of a call stands, not a machine's or a withdrawal; of a session none does.
    const refused =
      verdict_class === 'resolved' &&
      approver === 'human' &&
      decision !== 'accept' &&
      approval.holds !== 'session'
    const { refusal_seconds: seconds = approval.hitl.ttl_seconds } = approval.hitl
    const refusedUntil = refused ? expiryOf(capsule.timestamp, { ttl_seconds: seconds }) : null
    return { state, decided: null, refusedUntil }
  }
  return {
    parent: capsule.capsule_id,
    rung: verdict_class === 'escalated' ? approval.rung + 1 : approval.rung,
    deadline:
      deadline === undefined
        ? approval.deadline
        : { at: expiryOf(capsule.timestamp, deadline), onExpiry: deadline.on_expiry },
    votes: [],
    decided: null,
    state: { kind: 'pending' },
  }
}

function openedBy(line: LineOf<'APPROVAL_OPENED'>): Approval {
  const { operator, agent, developer, tool } = line
  const { ttl_seconds, quorum, roles, min_assurance, on_approval, ladder, refusal_seconds } = line
  const asked = { ttl_seconds, quorum, roles, min_assurance, on_approval, ladder }
  const refusal = refusal_seconds === undefined ? {} : { refusal_seconds }
  return {
    approvalId: line.approval_id,
    operator,
    agent,
    developer,
    tool,
    requestDigest: line.request_digest,
    policyDigest: line.policy_digest,
    manifestDigest: line.manifest_digest,
    documentDigest: line.document_digest,
    openedAt: line.opened_at,
    hitl: { ...asked, reminders_seconds: line.reminders, ...refusal },
    rung: 0,
    opened: line.capsule_id,
    parent: line.capsule_id,
    deadline: { at: line.expires_at, onExpiry: line.on_expiry },
    votes: [],
    decided: null,
    reminded: 0,
    callIdentity: line.call_identity ?? null,
    ...(line.session_id === undefined ? {} : { sessionId: line.session_id }),
    ...(line.holds === undefined ? {} : { holds: line.holds }),
    refusedUntil: null,
    state: { kind: 'pending' },
  }
}

const voteOf = (line: LineOf<'APPROVAL_VOTED'>): Vote => ({
  voter: line.voter,
  by: line.by,
  outcome: line.outcome,
  evidenceDigest: line.evidence_digest,
  line,
})
