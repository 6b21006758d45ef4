import { DEFAULT_HITL } from '../../core/approval/deadline.js'
import type { Capsule } from '../../core/capsule/model.js'
import { jsonDigest } from '../../core/json/build.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Authorized, Parts } from '../context.js'
import { freeze } from '../evidence/frozen.js'
import { decide } from '../govern/authorize.js'
import { type Asked, type Details, type Exit, refuse } from '../govern/exit.js'
import { summaryOf } from '../intent/after/summary.js'
import { demandsPerson, URGENCY_RECORD } from '../intent/demands-person.js'
import { identitiesOf, identityOf } from './call-identity.js'
import { isStale, mayClose, ownOf } from './find.js'
import { documentOf, openedEntry, type Shown } from './opening.js'

/**
 * Puts the call before a human, or joins the item that is open for it: of any number of identical calls
 * exactly one opens an item. One opened under other rules is superseded by the new one. A call that a person
 * refused is not put before a human again while the refusal stands.
 */
export async function askHuman(authorized: Authorized, parts: Parts): Promise<Exit> {
  const { state } = parts
  const { actionId, agent, requestDigest } = authorized
  for (;;) {
    const asking = await state.claim(`request ${agent.agent} ${requestDigest}`, actionId)
    if (asking.kind === 'claimed') break
    await asking.settled
  }
  const refusal = await standingRefusal(authorized, parts)
  if (refusal !== null) {
    await state.unclaim(actionId)
    return { exit: 'refused_before', known: authorized, approval: refusal }
  }
  const current = ownOf(await state.approvalsFor(agent.agent, requestDigest), authorized)
  if (current !== null && isJoinable(current, authorized)) {
    await state.unclaim(actionId)
    return { exit: 'joined', known: authorized, approval: current }
  }
  // If another action is closing it, the new item is opened beside the one that is ending.
  const over = current !== null && (await mayClose(current, actionId, parts)) ? current : null
  const { openPerAgent: threshold, openPerSession: most } = parts
  const sessionId = authorized.intent?.intent.sessionId
  const session = sessionId === undefined ? undefined : { sessionId, most }
  // An item that supersedes another does not add to the count.
  if (over === null && !(await state.claimOpening(agent.agent, actionId, threshold, session))) {
    const details = { retry_after_seconds: RETRY_SECONDS }
    return refuse(authorized, 'approvals_exhausted', { threshold }, details)
  }
  return asked(authorized, identityOf(authorized, parts), over, parts)
}

/** A person refused this very call before, and that still stands. */
export const standingRefusal = (authorized: Authorized, parts: Parts): Promise<Approval | null> =>
  parts.state.refusal(
    authorized.agent.agent,
    identitiesOf(authorized, parts),
    Date.parse(authorized.at),
  )

const RETRY_SECONDS = 60

/** An item that does not hold its session is not enough for a call whose session has to wait (seed §4.4). */
const isJoinable = (current: Approval, authorized: Authorized): boolean =>
  !isStale(current, authorized) &&
  !isVoid(current, authorized) &&
  (current.holds !== undefined || !demandsPerson(authorized))

/** A grant that this call found unusable, although its rules are the current ones. */
const isVoid = (current: Approval, { item }: Authorized): boolean =>
  item.kind === 'open' && item.stale && item.approval.parent === current.parent

function asked(
  authorized: Authorized,
  callIdentity: string,
  over: Approval | null,
  parts: Parts,
): Asked {
  const hitl = authorized.rule.hitl ?? DEFAULT_HITL
  const { kind, ids, words } = routedBy(authorized)
  const document = documentOf(
    authorized,
    {
      approvalId: authorized.actionId,
      requestDigest: authorized.requestDigest,
      routedBy: { kind, ids, reason: words },
      ...declaredIn(authorized),
    },
    parts,
  )
  const part: EvidencePart = {
    digest: jsonDigest(document, parts.crypto),
    kind: 'approval',
    name: 'document',
    value: document,
  }
  return {
    exit: 'asked',
    code: 'approval_pending',
    known: {
      ...authorized,
      evidence: [...authorized.evidence, part, ...freeze(authorized, parts)],
      opening: { hitl, documentDigest: part.digest, callIdentity },
      supersedes: over?.parent ?? null,
    },
    reason: routedBy(authorized).reason,
    details: pendingDetails(authorized.actionId, 'pending', document.deadline.at),
  }
}

/** What the caller of a waiting call gets. */
export const pendingDetails = (
  approval_id: string,
  state: 'pending' | 'approved',
  expires_at: string,
): Details => ({
  approval_id,
  approval_state: state,
  expires_at,
  retry_after_seconds: state === 'approved' ? 1 : 5,
  hem_available: true,
})

/** The agent's own words, for people to weigh; and whether their word can lift what is in the way. */
function declaredIn(authorized: Authorized): Pick<Shown, 'declared'> {
  const { intent, stopped } = authorized
  if (intent === null) return {}
  const { sessionId: session_id } = intent.intent
  const idp_summary = { idp: summaryOf(intent.intent) }
  if (!demandsPerson(authorized)) return { declared: { session_id, idp_summary } }
  const approval_lifts = stopped === null && decide(authorized, true).kind === 'permit'
  return { declared: { session_id, holds: 'call', idp_summary, approval_lifts } }
}

/** In one append with its capsule: an item without this line could not be decided. */
export function openingEntry({ known }: Asked, capsule: Capsule, parts: Parts): JournalEntry {
  const { opening, actionId: approvalId, requestDigest, intent } = known
  const session = intent === null ? {} : { session_id: intent.intent.sessionId }
  const holds = demandsPerson(known) ? { holds: 'call' as const } : {}
  const more = { ...session, ...holds }
  return openedEntry(known, { approvalId, requestDigest, ...opening, more }, capsule, parts)
}

/** What sent the call to a human: policies, constraints whose failure asks instead of blocking, or the agent itself. */
export function routedBy({
  decision,
  asking,
  intent,
}: Pick<Authorized, 'decision' | 'asking' | 'intent'>) {
  if (decision.kind === 'ask') {
    const { policies: ids, reason: words } = decision
    return { kind: 'policy', ids, words, reason: { policy_ids: ids } } as const
  }
  if (asking.length === 0 && demandsPerson({ intent })) {
    const reason = { constraint: URGENCY_RECORD, observed: 'REQUIRED' }
    return { kind: 'agent', ids: [], words: null, reason } as const
  }
  const reason = { constraint: asking[0] ?? '' }
  return { kind: 'constraint', ids: asking, words: null, reason } as const
}
