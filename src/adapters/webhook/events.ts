import { expiryOf } from '../../core/approval/deadline.js'
import type { Capsule } from '../../core/capsule/model.js'
import type { SignedHead } from '../../core/journal/head.js'
import type { Line, LineOf } from '../../core/journal/vocabulary.js'
import type {
  ApprovalSeen,
  Context,
  ContextChange,
  EventData,
  EventType,
  WebhookEvent,
} from './model.js'

export type Derived = {
  readonly events: readonly WebhookEvent[]
  readonly change: ContextChange | null
}
export const NOTHING: Derived = { events: [], change: null }

/** The developer of the call the gate refuses at its own start to prove that it can (promise 6): no event. */
const CANARY = 'dev.capsulegate.canary'

/**
 * The events of a journal line, from that line and what earlier lines established alone, so that a restart
 * derives the same events with the same ids. They hold no argument, reason or name of a decider, because
 * lines hold none (promise 8).
 */
export function derive(line: Line, context: Context): Derived {
  switch (line.type) {
    case 'APPROVAL_OPENED':
      return opened(line)
    case 'APPROVAL_REMINDER':
      return reminded(line, context)
    case 'GRANT_ISSUED':
      return granted(line, context)
    case 'CONFIG_CHANGED':
      return configured(line, context)
    case 'CAPSULE':
      return concluded(line, line.capsule, context)
    default:
      return NOTHING
  }
}

/** All members of the head, so that `verify --head` can compare a journal with the body alone. */
export const headEvent = (head: SignedHead): WebhookEvent =>
  unasked('journal.head', head.time, { ...head })

/** An event about no approval. */
const unasked = (
  type: EventType,
  at: string,
  data: EventData,
  page: string | null = null,
): WebhookEvent => ({ type, at, approval: null, deadline: null, page, data })

function opened(line: LineOf<'APPROVAL_OPENED'>): Derived {
  const id = line.approval_id
  const { tool, agent, operator, document_digest, capsule_id } = line
  const deadline = { at: line.expires_at, on_expiry: line.on_expiry }
  const { session_id, holds } = line
  const seen = {
    ...{ tool, agent, operator, document_digest, capsule_id, deadline, approved: false },
    ...(session_id === undefined ? {} : { session_id }),
    ...(holds === undefined ? {} : { holds }),
  }
  const event = about('approval.requested', line, id, seen, { verdict: 'hitl_dispatched' })
  return { events: [event], change: { approvals: { [id]: seen } } }
}

function reminded(line: LineOf<'APPROVAL_REMINDER'>, { approvals }: Context): Derived {
  const id = line.approval_id
  const seen = approvals.get(id)
  if (seen === undefined) return NOTHING
  const more = { verdict: 'hitl_dispatched', nth: line.nth }
  return { events: [about('approval.reminder', line, id, seen, more)], change: null }
}

/** A grant is issued when the quorum is reached, so it is the decision; single votes are no event. */
function granted(line: LineOf<'GRANT_ISSUED'>, { approvals }: Context): Derived {
  const id = line.standing === true ? undefined : line.approval_id
  const seen = id === undefined ? undefined : approvals.get(id)
  if (id === undefined || seen === undefined || seen.approved) return NOTHING
  return {
    events: [about('approval.decided', line, id, seen, { verdict: null, outcome: 'approved' })],
    change: { approvals: { [id]: { ...seen, approved: true } } },
  }
}

function configured(line: LineOf<'CONFIG_CHANGED'>, { judges: before }: Context): Derived {
  const { policy_digest, manifest_digests, mode } = line
  const events: WebhookEvent[] = []
  const manifests_changed = before?.manifest_digests.join() !== manifest_digests.join()
  if (manifests_changed || before?.policy_digest !== policy_digest) {
    const previous_policy_digest = before?.policy_digest ?? null
    const data = { policy_digest, previous_policy_digest, manifests_changed }
    events.push(unasked('policy.changed', line.at, data))
  }
  if (before !== null && before.mode !== mode) {
    events.push(unasked('mode.changed', line.at, { mode, previous_mode: before.mode }))
  }
  return { events, change: { judges: { policy_digest, manifest_digests, mode } } }
}

function concluded(line: Line, capsule: Capsule, context: Context): Derived {
  if (capsule.chain?.relation === 'supersedes') {
    const id = openWith(capsule.chain.parent_capsule_id, capsule, context)
    const seen = id === null ? undefined : context.approvals.get(id)
    if (id !== null && seen !== undefined) return moved(line, capsule, id, seen)
  }
  const { verdict_class: verdict } = capsule.disposition
  if ((verdict !== 'denied' && verdict !== 'blocked') || capsule.developer === CANARY)
    return NOTHING
  const data = {
    action_id: capsule.action_id,
    decision_id: capsule['dev.capsulegate.decision_id'] ?? null,
    capsule_id: capsule.capsule_id,
    verdict,
    operator: short(capsule.operator),
    developer: short(capsule.developer),
  }
  const page = `/v1/actions/${capsule.action_id}`
  return { events: [unasked('verdict.denied', line.at, data, page)], change: null }
}

/** The approval this capsule moves: its own decision's, or one that a new item supersedes. */
function openWith(parent: string, capsule: Capsule, { approvals }: Context): string | null {
  const own = capsule['dev.capsulegate.decision_id']
  if (own !== undefined && approvals.get(own)?.capsule_id === parent) return own
  for (const [id, { capsule_id }] of approvals) if (capsule_id === parent) return id
  return null
}

function moved(line: Line, capsule: Capsule, id: string, before: ApprovalSeen): Derived {
  const {
    verdict_class: verdict,
    decision,
    approver,
    authority,
    expiry_policy,
  } = capsule.disposition
  const seen = { ...before, capsule_id: capsule.capsule_id }
  const result = (type: EventType, more: EventData, now: ApprovalSeen | null): Derived => ({
    events: [about(type, line, id, now ?? seen, { verdict, ...more })],
    change: { approvals: { [id]: now } },
  })
  switch (verdict) {
    case 'escalated':
    case 'deferred': {
      const given = expiry_policy ?? capsule['dev.capsulegate.deadline']
      const deadline =
        given === undefined
          ? seen.deadline
          : { at: expiryOf(capsule.timestamp, given), on_expiry: given.on_expiry }
      const now: ApprovalSeen = { ...seen, approved: false, deadline }
      return verdict === 'escalated'
        ? result('approval.escalated', {}, now)
        : result('approval.decided', { outcome: 'deferred' }, now)
    }
    case 'resolved': {
      // A machine's refusal names its authority; a withdrawal has neither (DESIGN §6).
      const refused = approver === 'human' || authority !== undefined
      const outcome = decision === 'accept' ? 'resumed' : refused ? 'refused' : 'withdrawn'
      return result('approval.decided', { outcome }, null)
    }
    default: {
      if ((verdict === 'timeout' || verdict === 'expired') && capsule.effect === undefined) {
        return result('approval.expired', { was: seen.approved ? 'approved' : 'undecided' }, null)
      }
      // The call ran under its approval, whose event was sent when it was given.
      if (seen.approved) return { events: [], change: { approvals: { [id]: null } } }
      const outcome = verdict === 'hitl_dispatched' ? 'superseded' : 'closed'
      return result('approval.decided', { outcome }, null)
    }
  }
}

/** A person can act on these until the deadline; the others only inform and are sent however late. */
const ASKS: ReadonlySet<EventType> = new Set([
  'approval.requested',
  'approval.reminder',
  'approval.escalated',
])

function about(
  type: EventType,
  line: Line,
  id: string,
  seen: ApprovalSeen,
  more: EventData,
): WebhookEvent {
  return {
    type,
    at: line.at,
    approval: id,
    deadline: ASKS.has(type) ? seen.deadline.at : null,
    page: `/approvals/${id}`,
    data: {
      approval_id: id,
      tool: short(seen.tool),
      agent: short(seen.agent),
      operator: short(seen.operator),
      capsule_id: seen.capsule_id,
      document_digest: seen.document_digest,
      deadline: seen.deadline,
      ...(seen.session_id === undefined ? {} : { session_id: short(seen.session_id) }),
      ...(seen.holds === undefined ? {} : { holds: seen.holds }),
      ...more,
    },
  }
}

/** Names come from tokens and manifests, of any length; the body has to stay below 20 kB. */
const short = (text: string): string => (text.length > 256 ? `${text.slice(0, 255)}…` : text)
