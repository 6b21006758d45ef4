import { DEFAULT_HITL, deadlineAt } from '../../../core/approval/deadline.js'
import type { ConstraintRecord } from '../../../core/capsule/model.js'
import type { VerificationRecord } from '../../../core/journal/lines/intent.js'
import { jsonDigest } from '../../../core/json/build.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import { documentOf, openedEntry } from '../../approval/opening.js'
import type { Matched, Parts } from '../../context.js'
import { reasonPart, saltedPart } from '../../evidence/parts.js'
import { evidenceRecord } from '../../evidence/record.js'
import type { Escalation } from '../../govern/exit.js'
import { signed } from '../../signed-event.js'
import { decidedAction, type Following } from '../../write-capsule.js'
import { summaryOf } from './summary.js'

const RECORDS = {
  commitment_gap: 'dev.capsulegate.idp_commitment',
  mission_mismatches: 'dev.capsulegate.idp_mission',
} as const

/**
 * The session stops until a person has decided (§5.2 g, §5.5.2). The request to them is a capsule of its own, in one
 * append with what brought it about, so that a crash leaves both or neither. Where nobody can be asked the session
 * ends.
 */
export function escalate(
  known: Matched,
  { why, intent }: Escalation,
  record: VerificationRecord | null,
  parts: Parts,
): Following {
  const { world, identified, manifestDigest, mode, rule } = known
  const { sessionId: session_id } = intent
  const approvalId = parts.ids.actionId()
  const hitl = { ...(rule.hitl ?? DEFAULT_HITL), on_approval: 'retry' as const }
  const callIdentity = parts.tenant.callIdentity(`session ${session_id} ${approvalId}`)
  // Of its own: the call itself may be asked about too, or come again.
  const requestDigest = jsonDigest({ session_id, approval_id: approvalId }, parts.crypto)
  const document = documentOf(
    known,
    {
      approvalId,
      requestDigest,
      routedBy: { kind: 'gate', ids: [RECORDS[why]], reason: null },
      declared: {
        session_id,
        holds: 'session',
        idp_summary: {
          idp: summaryOf(intent),
          ...(record === null ? {} : { verification_record: { ...record } }),
        },
      },
    },
    parts,
  )
  const shown: EvidencePart = {
    digest: jsonDigest(document, parts.crypto),
    kind: 'approval',
    name: 'document',
    value: document,
  }
  const code = parts.approvals ? 'session_escalated' : 'session_unattended'
  const reason = reasonPart(code, { code, observed: why }, parts)
  const check = checkPart(why, record, parts)
  const evidence = evidenceRecord({ ...known, actionId: approvalId }, [check, shown, reason], parts)
  return {
    input: {
      identity: decidedAction(
        approvalId,
        { operator: world.operator, developer: identified.developer },
        parts.journal.timestamp(),
      ),
      verdict: {
        kind: 'refused',
        verdict_class: parts.approvals ? 'hitl_dispatched' : 'needs_decision',
        reason_digest: reason.digest,
      },
      constraints: [commitmentRecord(why, check.digest, true)],
      extensions: {
        'dev.capsulegate.manifest_digest': manifestDigest,
        'dev.capsulegate.policy_digest': world.policy.digest,
        'dev.capsulegate.mode': mode,
        'dev.capsulegate.decision_id': approvalId,
        ...(parts.approvals ? { 'dev.capsulegate.deadline': deadlineAt(hitl, 0) } : {}),
      },
    },
    evidence,
    about: { agent: identified.agent, tool: rule.tool },
    beside: (capsule) =>
      parts.approvals
        ? [
            openedEntry(
              known,
              {
                approvalId,
                requestDigest,
                documentDigest: shown.digest,
                callIdentity,
                hitl,
                more: { session_id, holds: 'session' },
              },
              capsule,
              parts,
            ),
          ]
        : [signed('SESSION_CLOSED', { session_id, reason: 'nobody_to_ask' }, parts)],
  }
}

const checkPart = (
  why: Escalation['why'],
  record: VerificationRecord | null,
  parts: Parts,
): EvidencePart =>
  saltedPart(
    'constraint',
    RECORDS[why],
    { constraint: RECORDS[why], ...(record === null ? {} : { record: { ...record } }) },
    parts,
  )

/** What stopped the session. Of the call itself it says so, and gates nothing: that was sent. */
const commitmentRecord = (
  why: Escalation['why'],
  evidence_digest: string,
  blocking: boolean,
): ConstraintRecord => ({
  id: RECORDS[why],
  check_type: RECORDS[why],
  method: 'dev.capsulegate.intent',
  result: 'fail',
  severity: 'critical',
  blocking,
  evidence_digest,
})

/** The same on the capsule of the call that was sent. */
export function gapRecord(
  record: VerificationRecord,
  parts: Parts,
): { readonly entry: ConstraintRecord; readonly part: EvidencePart } {
  const part = checkPart('commitment_gap', record, parts)
  return { entry: commitmentRecord('commitment_gap', part.digest, false), part }
}
