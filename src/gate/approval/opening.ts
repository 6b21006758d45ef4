import { DEFAULT_HITL, deadlineAt, expiryOf } from '../../core/approval/deadline.js'
import { type ApprovalDocument, approvalDocument } from '../../core/approval/document.js'
import { hex } from '../../core/bytes/hex.js'
import { describeCall } from '../../core/call/describe.js'
import type { Capsule } from '../../core/capsule/model.js'
import type { MembersOf } from '../../core/journal/vocabulary.js'
import type { Hitl } from '../../core/manifest/model.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Matched, Parts } from '../context.js'
import { signed } from '../signed-event.js'

/** What is asked, beside the call itself. */
export type Shown = {
  readonly approvalId: string
  /** What a decision binds to: the call's, or of the session that the call stopped. */
  readonly requestDigest: string
  readonly routedBy: ApprovalDocument['routed_by']
  readonly declared?: Pick<
    ApprovalDocument,
    'idp_summary' | 'approval_lifts' | 'session_id' | 'holds'
  >
}

/** The call as people are shown it, whole (promise 4, 5). */
export function documentOf(
  known: Matched,
  { approvalId, requestDigest, routedBy, declared = {} }: Shown,
  parts: Parts,
): ApprovalDocument {
  const { rule, world, identified: agent } = known
  const { request, tool } = describeCall(known)
  return approvalDocument({
    approval_id: approvalId,
    operator: world.operator,
    agent: agent.agent,
    developer: agent.developer,
    tool,
    args: known.args,
    ...notJudgedIn(known),
    request,
    routed_by: routedBy,
    irreversibility: rule.effect.irreversibility_class,
    requested_at: known.at,
    hitl: rule.hitl ?? DEFAULT_HITL,
    request_digest: requestDigest,
    policy_digest: world.policy.digest,
    manifest_digest: known.manifestDigest,
    ...declared,
    salt: hex(parts.ids.random(16)),
  })
}

/** Shown apart from the arguments, because the gate has not checked it. */
function notJudgedIn({ notJudged }: Matched): Pick<ApprovalDocument, 'not_judged'> {
  const { query, members, body } = notJudged
  if (query.length === 0 && members.length === 0 && !body) return {}
  return { not_judged: { query, members: members.map(([pointer]) => pointer), body } }
}

type Opened = {
  readonly approvalId: string
  readonly requestDigest: string
  readonly documentDigest: string
  readonly callIdentity: string
  readonly hitl: Hitl
  readonly more: Pick<MembersOf<'APPROVAL_OPENED'>, 'session_id' | 'holds'>
}

/** The line that makes an open item decidable; it stands beside the capsule that opens it. */
export function openedEntry(
  { rule, identified: agent, world, manifestDigest }: Matched,
  { approvalId, requestDigest, documentDigest, callIdentity, hitl, more }: Opened,
  { capsule_id, timestamp }: Capsule,
  parts: Parts,
): JournalEntry {
  const deadline = deadlineAt(hitl, 0)
  return signed(
    'APPROVAL_OPENED',
    {
      approval_id: approvalId,
      capsule_id,
      agent: agent.agent,
      operator: world.operator,
      developer: agent.developer,
      tool: rule.tool,
      request_digest: requestDigest,
      policy_digest: world.policy.digest,
      manifest_digest: manifestDigest,
      document_digest: documentDigest,
      opened_at: timestamp,
      expires_at: expiryOf(timestamp, deadline),
      on_expiry: deadline.on_expiry,
      ttl_seconds: hitl.ttl_seconds,
      quorum: hitl.quorum,
      roles: hitl.roles,
      min_assurance: hitl.min_assurance,
      on_approval: hitl.on_approval,
      ladder: hitl.ladder,
      reminders: hitl.reminders_seconds,
      refusal_seconds: hitl.refusal_seconds ?? hitl.ttl_seconds,
      call_identity: callIdentity,
      ...more,
    },
    parts,
  )
}
