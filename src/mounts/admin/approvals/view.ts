import { z } from 'zod'
import { expiryInWords, rolesAt } from '../../../core/approval/deadline.js'
import type { ApprovalDocument } from '../../../core/approval/document.js'
import type { Crypto } from '../../../core/crypto/crypto.js'
import { jsonDigest } from '../../../core/json/build.js'
import { haltFor } from '../../../gate/operate/halt.js'
import type { Read } from '../../../gate/read.js'
import type { Principal } from '../../../ports/admin.js'
import type { Approval } from '../../../ports/state.js'
import { actionId, digest, time, verdict } from '../routes/schemas.js'

/** What a principal who may list approvals sees of one: categories, ids and digests (promise 8). */
export const approvalSummary = z.strictObject({
  approval_id: actionId,
  state: z.enum(['pending', 'approved', 'closed']),
  /** Of the capsule that ended it, and the action that capsule is of; null while it is open. */
  verdict: verdict.nullable(),
  closed_by: actionId.nullable(),
  /** The capsule that stands now: the open item's, or the one that ended it. */
  capsule_id: digest,
  /** A person refused it and the same call is not asked about again until then; null otherwise. */
  refused_until: time.nullable(),
  operator: z.string(),
  agent: z.string(),
  developer: z.string(),
  tool: z.string(),
  opened_at: time,
  deadline: z.strictObject({ at: time, on_expiry: z.string(), words: z.string() }),
  asked: z.array(z.string()),
  min_assurance: z.enum(['L1', 'L2', 'L3']),
  quorum: z.int(),
  /** Approving votes so far; who voted is in the evidence. */
  votes: z.int(),
  on_approval: z.enum(['retry', 'dispatch']),
  /** Halted: nothing is decided and nothing expires. */
  frozen: z.boolean(),
  document_digest: digest,
  request_digest: digest,
  /** The session that the call is a step of; null: of none. */
  session_id: z.string().nullable(),
  /** `session`: decided is whether that goes on; `call`: it waits for this call. Null: it waits for neither. */
  holds: z.enum(['session', 'call']).nullable(),
})
export type ApprovalSummary = z.infer<typeof approvalSummary>

export function summaryOf(approval: Approval, read: Pick<Read, 'halts'>): ApprovalSummary {
  const { state, hitl, deadline } = approval
  const closed = state.kind === 'closed' ? state : null
  return {
    approval_id: approval.approvalId,
    state: state.kind,
    verdict: closed?.verdict ?? null,
    closed_by: closed?.actionId ?? null,
    capsule_id: closed?.capsuleId ?? approval.parent,
    refused_until: approval.refusedUntil,
    operator: approval.operator,
    agent: approval.agent,
    developer: approval.developer,
    tool: approval.tool,
    opened_at: approval.openedAt,
    deadline: {
      at: deadline.at,
      on_expiry: deadline.onExpiry,
      words: expiryInWords(deadline.onExpiry),
    },
    asked: [...rolesAt(hitl, approval.rung)],
    min_assurance: hitl.min_assurance,
    quorum: hitl.quorum,
    votes: approval.votes.filter(({ outcome }) => outcome === 'approve').length,
    on_approval: hitl.on_approval,
    frozen: haltFor(read.halts(), approval) !== null,
    document_digest: approval.documentDigest,
    request_digest: approval.requestDigest,
    session_id: approval.sessionId ?? null,
    holds: approval.holds ?? null,
  }
}

/** A token's role and its groups: what `roles` of a manifest's hitl and of its ladder name. */
export const rolesOf = ({ role, groups }: Principal): readonly string[] => [role, ...groups]

/**
 * Whether this principal may read the document, arguments included. An approver reads what they are or
 * were asked to decide; for the rest of them it does not exist.
 */
export function mayRead(principal: Principal, { hitl, rung }: Approval): boolean {
  if (principal.role !== 'approver') return true
  const own = rolesOf(principal)
  const rungs = Array.from({ length: rung + 1 }, (_, index) => rolesAt(hitl, index))
  return rungs.some((asked) => asked.some((role) => own.includes(role)))
}

/** What a system that showed the arguments to a person sends back: JSON-DIGEST of the document's `arguments`. */
export const argumentsDigest = (document: ApprovalDocument, crypto: Crypto): string =>
  jsonDigest(document.arguments, crypto)
