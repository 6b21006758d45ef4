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
  JudgesSeen,
  WebhookEvent,
} from './model.js'

export type Derived = {
  readonly events: readonly WebhookEvent[]
  readonly change: ContextChange | null
}
export const NOTHING: Derived = { events: [], change: null }

/** The gate calls itself at start to prove that it refuses: news to nobody (promise 6). */
const CANARY = 'dev.capsulegate.canary'

/**
 * Which events a journal line is. Nothing but the line and what earlier lines said goes in, so that a
 * restart derives the same events with the same ids. No argument, reason or name of a decider comes
 * out: lines hold none (promise 8).
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

/** All its members, so that the body alone is enough to hold a journal to it (`verify --head`). */
export const headEvent = (head: SignedHead): WebhookEvent => ({
  type: 'journal.head',
  at: head.time,
  approval: null,
  deadline: null,
  page: null,
  data: { ...head },
})

function opened(line: LineOf<'APPROVAL_OPENED'>): Derived {
  const id = line.approval_id
  const seen: ApprovalSeen = {
    tool: line.tool,
    agent: line.agent,
    operator: line.operator,
    document_digest: line.document_digest,
    capsule_id: line.capsule_id,
    deadline: { at: line.expires_at, on_expiry: line.on_expiry },
    approved: false,
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

/** The grant is the approval: votes below the quorum decide nothing. */
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
  const now: JudgesSeen = { policy_digest, manifest_digests, mode }
  const events: WebhookEvent[] = []
  const add = (type: EventType, data: EventData): void => {
    events.push({ type, at: line.at, approval: null, deadline: null, page: null, data })
  }
  const rules = ({ policy_digest, manifest_digests }: JudgesSeen): string =>
    [policy_digest, ...manifest_digests].join()
  if (before === null || rules(before) !== rules(now)) {
    add('policy.changed', {
      policy_digest: now.policy_digest,
      previous_policy_digest: before?.policy_digest ?? null,
      manifests_changed:
        before === null || before.manifest_digests.join() !== now.manifest_digests.join(),
    })
  }
  if (before !== null && before.mode !== now.mode) {
    add('mode.changed', { mode: now.mode, previous_mode: before.mode })
  }
  return { events, change: { judges: now } }
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
  const event: WebhookEvent = {
    type: 'verdict.denied',
    at: line.at,
    approval: null,
    deadline: null,
    page: `/v1/actions/${capsule.action_id}`,
    data: {
      action_id: capsule.action_id,
      decision_id: capsule['dev.capsulegate.decision_id'] ?? null,
      capsule_id: capsule.capsule_id,
      verdict,
      operator: short(capsule.operator),
      developer: short(capsule.developer),
    },
  }
  return { events: [event], change: null }
}

/** The approval this capsule moves: its own decision's, or one that a new item takes the place of. */
function openWith(parent: string, capsule: Capsule, { approvals }: Context): string | null {
  const own = capsule['dev.capsulegate.decision_id']
  if (own !== undefined && approvals.get(own)?.capsule_id === parent) return own
  for (const [id, { capsule_id }] of approvals) if (capsule_id === parent) return id
  return null
}

function moved(line: Line, capsule: Capsule, id: string, seen: ApprovalSeen): Derived {
  const { verdict_class: verdict, approver, authority, expiry_policy } = capsule.disposition
  const closed = { approvals: { [id]: null } }
  const event = (type: EventType, now: ApprovalSeen, more: EventData): WebhookEvent =>
    about(type, line, id, { ...now, capsule_id: capsule.capsule_id }, { verdict, ...more })
  switch (verdict) {
    case 'escalated':
    case 'deferred': {
      const given = expiry_policy ?? capsule['dev.capsulegate.deadline']
      const now: ApprovalSeen = {
        ...seen,
        approved: false,
        capsule_id: capsule.capsule_id,
        deadline:
          given === undefined
            ? seen.deadline
            : { at: expiryOf(capsule.timestamp, given), on_expiry: given.on_expiry },
      }
      const told =
        verdict === 'escalated'
          ? event('approval.escalated', now, {})
          : event('approval.decided', now, { outcome: 'deferred' })
      return { events: [told], change: { approvals: { [id]: now } } }
    }
    case 'resolved': {
      // A machine's refusal names its authority; a withdrawal is nobody's decision (DESIGN §6).
      const refused = approver === 'human' || authority !== undefined
      const outcome = refused ? 'refused' : 'withdrawn'
      return { events: [event('approval.decided', seen, { outcome })], change: closed }
    }
    default:
      // A call that ran under its approval was told when it was approved.
      if ((verdict === 'timeout' || verdict === 'expired') && capsule.effect === undefined) {
        const was = seen.approved ? 'approved' : 'undecided'
        return { events: [event('approval.expired', seen, { was })], change: closed }
      }
      if (seen.approved) return { events: [], change: closed }
      return {
        events: [
          event('approval.decided', seen, {
            outcome: verdict === 'hitl_dispatched' ? 'superseded' : 'closed',
          }),
        ],
        change: closed,
      }
  }
}

/** Who can still act on it has until then; what is only told has no such end. */
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
      ...more,
    },
  }
}

/** Names come from tokens and manifests; a payload stays far below 20 kB whatever they hold. */
const short = (text: string): string => (text.length > 256 ? `${text.slice(0, 255)}…` : text)
