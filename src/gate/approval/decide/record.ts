import { brokenBound, readBounds } from '../../../core/approval/bounds.js'
import type { ApprovalDocument } from '../../../core/approval/document.js'
import { readArgument, readDocument } from '../../../core/approval/read-document.js'
import { HumanDecision } from '../../../core/capsule/human.js'
import type { Facts } from '../../../core/manifest/constraint/inputs.js'
import type { ArgValue } from '../../../core/manifest/constraint/typed-value.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import type { JournalEntry } from '../../../ports/journal.js'
import type { Approval } from '../../../ports/state.js'
import type { Parts } from '../../context.js'
import { subjectOf } from '../../evidence/subject.js'
import { approvalRecord } from '../../govern/approve.js'
import { saltedPart } from '../../govern/dispatch.js'
import { signed } from '../../signed-event.js'
import { type Transition, transition } from '../transition.js'
import { type Decision, type Resolution, refused } from './model.js'

export type Recording = {
  readonly approval: Approval
  readonly decision: Decision
  /** Holds the claim on the approval's parent. */
  readonly actionId: string
}

/** A vote and, at quorum, the grant; no capsule: the item stays open until one supersedes it (DESIGN §3). */
export async function recordApprove(
  { approval, decision }: Recording,
  parts: Parts,
): Promise<Resolution> {
  const { hitl, votes } = approval
  const stale = staleness(approval, parts)
  if (stale !== null) return refused('stale', stale)
  const broken = await boundsFault(approval, decision, parts)
  if (broken !== null) return refused('bounds', broken)
  const part = votePart(approval, decision, parts)
  const count = votes.length + 1
  const granted = decision.decider.kind === 'machine' || count >= hitl.quorum
  await putVote(approval, part, parts)
  await parts.journal.append([
    voteEntry(approval, decision, part, parts),
    ...(granted ? [grantEntry(approval, parts)] : []),
  ])
  return {
    kind: 'recorded',
    repeated: false,
    state: granted ? 'approved' : 'pending',
    votes: count,
    quorum: hitl.quorum,
    capsuleId: null,
  }
}

/** The first refusal ends it. */
export async function recordDeny(
  { approval, decision, actionId }: Recording,
  parts: Parts,
): Promise<Resolution> {
  const part = votePart(approval, decision, parts)
  const { capsuleId } = await transition(
    {
      code: 'approval_refused',
      approval,
      actionId,
      at: parts.journal.timestamp(),
      by: byOf(approval, decision, parts),
      record: approvalRecord('fail', part.digest),
      evidence: [part],
      events: [voteEntry(approval, decision, part, parts)],
    },
    parts,
  )
  return settled(approval, 'refused', capsuleId)
}

const MOST_SECONDS = 31_536_000

/** "Later" is an answer: its summary is frozen once, and its time counts from its own capsule (seed §5.4). */
export async function recordDefer(
  { approval, decision, actionId }: Recording,
  parts: Parts,
): Promise<Resolution> {
  const { outcome } = decision
  if (outcome.kind !== 'defer') throw new TypeError('not a deferral')
  const { ttlSeconds, onExpiry } = outcome
  if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MOST_SECONDS) {
    return refused('ttl', `whole seconds, from 1 to ${MOST_SECONDS}`)
  }
  if (onExpiry === 'escalated' && approval.rung >= approval.hitl.ladder.length) {
    return refused('ladder', 'there is nobody further up to pass it on to')
  }
  const part = votePart(approval, decision, parts)
  const at = parts.journal.timestamp()
  const expiry = { ttl_seconds: ttlSeconds, on_expiry: onExpiry }
  const summary = saltedPart(
    'approval',
    'deferral',
    {
      approval_id: approval.approvalId,
      document_digest: approval.documentDigest,
      on: approval.parent,
      vote: part.digest,
      deferred_at: at,
      ...expiry,
    },
    parts,
  )
  const { capsuleId } = await transition(
    {
      code: 'approval_deferred',
      approval,
      actionId,
      at,
      by: byOf(approval, decision, parts),
      record: approvalRecord('n/a', summary.digest),
      evidence: [part, summary],
      expiry,
      events: [voteEntry(approval, decision, part, parts)],
    },
    parts,
  )
  return settled(approval, 'deferred', capsuleId)
}

const settled = (
  { votes, hitl }: Approval,
  state: 'refused' | 'deferred',
  capsuleId: string,
): Resolution => ({
  kind: 'recorded',
  repeated: false,
  state,
  votes: votes.length,
  quorum: hitl.quorum,
  capsuleId,
})

/** The one place where a person's word becomes a human decision, besides its recall. */
function byOf(approval: Approval, { decider, outcome }: Decision, parts: Parts): Transition['by'] {
  if (decider.kind === 'machine') {
    return { kind: 'machine', authority: parts.tenant.voter(decider.name) }
  }
  return {
    kind: 'human',
    decision: HumanDecision.authenticated({
      decisionId: approval.approvalId,
      requestDigest: approval.requestDigest,
      documentDigest: approval.documentDigest,
      approver: decider.name,
      assurance: decider.assurance,
      outcome: outcome.kind,
      at: parts.journal.timestamp(),
    }),
  }
}

/** Name, roles and reason are private: they stand here and nowhere else (promise 8). */
function votePart(approval: Approval, decision: Decision, parts: Parts): EvidencePart {
  const { decider, outcome } = decision
  const person = decider.kind === 'person' ? decider : null
  return saltedPart(
    'vote',
    outcome.kind,
    {
      vote: 'gate.vote/v1',
      approval_id: approval.approvalId,
      on: approval.parent,
      document_digest: approval.documentDigest,
      name: decider.name,
      by: decider.kind,
      roles: decider.roles,
      assurance: person?.assurance ?? 'L1',
      via: person?.via ?? 'machine',
      outcome: outcome.kind,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
      ...(outcome.kind === 'approve' && outcome.bounds !== undefined
        ? { bounds: outcome.bounds }
        : {}),
    },
    parts,
  )
}

function voteEntry(
  approval: Approval,
  { decider, outcome }: Decision,
  part: EvidencePart,
  parts: Parts,
): JournalEntry {
  return signed(
    'APPROVAL_VOTED',
    {
      approval_id: approval.approvalId,
      on: approval.parent,
      voter: parts.tenant.voter(decider.name),
      by: decider.kind,
      outcome: outcome.kind,
      document_digest: approval.documentDigest,
      evidence_digest: part.digest,
      ...(decider.kind === 'person' ? { assurance: decider.assurance } : {}),
    },
    parts,
  )
}

export const grantEntry = (approval: Approval, parts: Parts): JournalEntry =>
  signed(
    'GRANT_ISSUED',
    {
      grant: approval.approvalId,
      approval_id: approval.approvalId,
      agent: approval.agent,
      request_digest: approval.requestDigest,
      policy_digest: approval.policyDigest,
      manifest_digest: approval.manifestDigest,
      expires_at: approval.deadline.at,
      uses: 1,
    },
    parts,
  )

/** Beside the document it is about: an approving vote has no capsule of its own. */
async function putVote(
  { operator, approvalId }: Approval,
  part: EvidencePart,
  parts: Parts,
): Promise<void> {
  const subject = await subjectOf(approvalId, parts)
  const at = parts.journal.timestamp()
  await parts.evidence.put({ actionId: approvalId, operator, subject, at, parts: [part] })
}

/** A grant under rules that are gone would be void: the decider is told instead of left to wonder. */
function staleness(approval: Approval, parts: Parts): string | null {
  const { operator, policy, manifests } = parts.world()
  const same =
    operator === approval.operator &&
    policy.digest === approval.policyDigest &&
    manifests.some(({ digest }) => digest === approval.manifestDigest)
  return same
    ? null
    : 'policies, the manifest or the operator changed since; the call has to be made again'
}

/** Bounds must hold for the very arguments that were shown; nothing is approved otherwise. */
async function boundsFault(
  approval: Approval,
  { outcome }: Decision,
  parts: Parts,
): Promise<string | null> {
  if (outcome.kind !== 'approve' || outcome.bounds === undefined) return null
  const rule = parts.world().router.byTool.get(approval.tool)?.[0]?.rule
  const found = await parts.evidence.byDigest(approval.documentDigest)
  const document = found.state === 'present' ? readDocument(found.value.value) : null
  const facts = document === null ? null : factsOf(document)
  if (rule === undefined || facts === null) return 'the request as it was shown is no longer there'
  const read = readBounds(outcome.bounds, rule)
  if (!read.ok) return read.problems.join('; ')
  const broken = brokenBound(read.constraints, facts, parts.journal.timestamp(), parts.crypto)
  return broken === null ? null : `the request does not keep ${broken}`
}

function factsOf(document: ApprovalDocument): Facts | null {
  const args = new Map<string, ArgValue>()
  for (const [name, shown] of Object.entries(document.arguments)) {
    const arg = readArgument(shown)
    if (arg === null) return null
    args.set(name, arg)
  }
  const { agent, operator, tool, request } = document
  return { args, body: request.body, agent, operator, tool }
}
