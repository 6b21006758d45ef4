import { DEFAULT_HITL, deadlineAt, expiryOf } from '../../core/approval/deadline.js'
import { type ApprovalDocument, approvalDocument } from '../../core/approval/document.js'
import { hex } from '../../core/bytes/hex.js'
import { describeCall } from '../../core/call/describe.js'
import { freeze } from '../../core/call/freeze.js'
import type { Capsule } from '../../core/capsule/model.js'
import { jsonDigest } from '../../core/json/build.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Authorized, Parts } from '../context.js'
import { frozenPart } from '../evidence/frozen.js'
import { withoutPending } from '../govern/constrain.js'
import { type Asked, type Exit, type Refused, refuse } from '../govern/exit.js'
import { signed } from '../signed-event.js'
import { identityOf, olderIdentityOf } from './call-identity.js'
import { isStale, mayClose } from './find.js'

/**
 * Puts the call before a human, or joins whoever already did: of any number of identical calls exactly
 * one opens the item. One asked under other rules is superseded by the new one. What a person refused
 * is not put before anybody again while that stands.
 */
export async function openItem(authorized: Authorized, parts: Parts): Promise<Exit> {
  const { state } = parts
  const { actionId, agent, requestDigest } = authorized
  for (;;) {
    const asking = await state.claim(`request ${agent.agent} ${requestDigest}`, actionId)
    if (asking.kind === 'claimed') break
    await asking.settled
  }
  const identity = identityOf(authorized, parts)
  const at = Date.parse(authorized.at)
  const refusal =
    (await state.refusal(agent.agent, identity, at)) ??
    (await state.refusal(agent.agent, olderIdentityOf(authorized, parts), at))
  if (refusal !== null) {
    await state.unclaim(actionId)
    return { exit: 'refused_before', known: authorized, approval: refusal }
  }
  const current = await state.approvalFor(agent.agent, requestDigest)
  if (current !== null && !isStale(current, authorized) && !isVoid(current, authorized)) {
    await state.unclaim(actionId)
    return { exit: 'joined', known: authorized, approval: current }
  }
  // If not, whoever holds it is closing it, and this item stands beside the one that is ending.
  const over = current !== null && (await mayClose(current, actionId, parts)) ? current : null
  // What supersedes another takes its place.
  if (over === null && !(await state.claimOpening(agent.agent, actionId, parts.openPerAgent))) {
    return tooMany(authorized, parts)
  }
  return asked(authorized, identity, over, parts)
}

const RETRY_SECONDS = 60

const tooMany = (authorized: Authorized, { openPerAgent }: Parts): Refused =>
  refuse(
    withoutPending(authorized),
    'approvals_exhausted',
    { threshold: openPerAgent },
    { retry_after_seconds: RETRY_SECONDS },
  )

/** A grant that this very call found unusable, although its rules are the current ones. */
const isVoid = (current: Approval, { item }: Authorized): boolean =>
  item.kind === 'open' && item.stale && item.approval.parent === current.parent

function asked(
  authorized: Authorized,
  callIdentity: string,
  over: Approval | null,
  parts: Parts,
): Asked {
  const hitl = authorized.rule.hitl ?? DEFAULT_HITL
  const document = documentOf(authorized, parts)
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
      ...withoutPending(authorized),
      evidence: [...authorized.evidence, part, ...frozenParts(authorized, parts)],
      opening: { hitl, documentDigest: part.digest, callIdentity },
      supersedes: over?.parent ?? null,
    },
    reason: routedBy(authorized).reason,
    tell: pendingTell(authorized.actionId, 'pending', document.deadline.at),
  }
}

/** What the caller of a waiting call is told. */
export const pendingTell = (
  id: string,
  state: 'pending' | 'approved',
  until: string,
): { readonly [name: string]: Plain } => ({
  approval_id: id,
  approval_state: state,
  expires_at: until,
  retry_after_seconds: state === 'approved' ? 1 : 5,
  hem_available: true,
})

function documentOf(authorized: Authorized, parts: Parts): ApprovalDocument {
  const { rule, world, agent } = authorized
  const { kind, ids, words } = routedBy(authorized)
  const { request, tool } = describeCall(authorized)
  return approvalDocument({
    approval_id: authorized.actionId,
    operator: world.operator,
    agent: agent.agent,
    developer: agent.developer,
    tool,
    args: authorized.args,
    ...notJudgedIn(authorized),
    request,
    routed_by: { kind, ids, reason: words },
    irreversibility: rule.effect.irreversibility_class,
    requested_at: authorized.at,
    hitl: rule.hitl ?? DEFAULT_HITL,
    request_digest: authorized.requestDigest,
    policy_digest: world.policy.digest,
    manifest_digest: authorized.manifestDigest,
    salt: hex(parts.ids.random(16)),
  })
}

/** Shown apart from the arguments, so that an approver does not take it for checked. */
function notJudgedIn({ notJudged }: Authorized): Pick<ApprovalDocument, 'not_judged'> {
  const { query, members, body } = notJudged
  if (query.length === 0 && members.length === 0 && !body) return {}
  return { not_judged: { query, members: members.map(([pointer]) => pointer), body } }
}

/** The request as it would be sent, without anybody's credentials. */
function frozenParts({ call, rule, agent }: Authorized, parts: Parts): EvidencePart[] {
  const { head, body } = freeze(call, rule, agent)
  return [frozenPart('head', head, parts), frozenPart('body', body, parts)]
}

/** Stands beside its capsule in one append: an item nobody can decide must not exist. */
export function openingEntry({ known }: Asked, capsule: Capsule, parts: Parts): JournalEntry {
  const { opening, rule, agent, world } = known
  const { hitl } = opening
  const deadline = deadlineAt(hitl, 0)
  return signed(
    'APPROVAL_OPENED',
    {
      approval_id: known.actionId,
      capsule_id: capsule.capsule_id,
      agent: agent.agent,
      operator: world.operator,
      developer: agent.developer,
      tool: rule.tool,
      request_digest: known.requestDigest,
      policy_digest: world.policy.digest,
      manifest_digest: known.manifestDigest,
      document_digest: opening.documentDigest,
      opened_at: capsule.timestamp,
      expires_at: expiryOf(capsule.timestamp, deadline),
      on_expiry: deadline.on_expiry,
      ttl_seconds: hitl.ttl_seconds,
      quorum: hitl.quorum,
      roles: hitl.roles,
      min_assurance: hitl.min_assurance,
      on_approval: hitl.on_approval,
      ladder: hitl.ladder,
      reminders: hitl.reminders_seconds,
      refusal_seconds: hitl.refusal_seconds ?? hitl.ttl_seconds,
      call_identity: opening.callIdentity,
    },
    parts,
  )
}

/** What sent the call to a human: policies, or constraints whose failure asks instead of blocking. */
export function routedBy({ decision, asking }: Pick<Authorized, 'decision' | 'asking'>) {
  return decision.kind === 'ask'
    ? ({
        kind: 'policy',
        ids: decision.policies,
        words: decision.reason,
        reason: { policy_ids: decision.policies },
      } as const)
    : ({
        kind: 'constraint',
        ids: asking,
        words: null,
        reason: { constraint: asking[0] ?? '' },
      } as const)
}
