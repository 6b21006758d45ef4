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
import { saltedPart } from '../../evidence/parts.js'
import { putBeside } from '../../evidence/record.js'
import { approvalRecord } from '../../govern/approve.js'
import { signed } from '../../signed-event.js'
import { type Transition, transition } from '../transition.js'
import { assentTo, type Decision, type Outcome, type Resolution, refused } from './model.js'

export type Recording = {
  readonly approval: Approval
  readonly decision: Decision
  /** The holder of the claim on the approval's parent. */
  readonly actionId: string
}

/** A vote and, at quorum, the grant. No capsule: the item stays open until a call supersedes it (DESIGN §3). */
export async function recordApprove(recording: Recording, parts: Parts): Promise<Resolution> {
  const { approval, decision } = recording
  const { hitl, votes } = approval
  if (approval.holds === 'session') {
    return decision.outcome.kind === 'approve' && decision.outcome.bounds !== undefined
      ? refused('bounds', 'a session goes on or ends; bounds are for calls')
      : recordResume(recording, parts)
  }
  const stale = staleness(approval, parts)
  if (stale !== null) return refused('stale', stale)
  const broken = await boundsFault(approval, decision, parts)
  if (broken !== null) return refused('bounds', broken)
  const part = votePart(recording, parts)
  const count = votes.length + 1
  const granted = decision.decider.kind === 'machine' || count >= hitl.quorum
  await putBeside(approval, part, parts)
  await parts.journal.append([
    voteEntry(recording, part, parts),
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

/** At quorum the session goes on: nothing is left to be spent, so the item is closed at once. */
async function recordResume(recording: Recording, parts: Parts): Promise<Resolution> {
  const { approval } = recording
  const { hitl, votes, approvalId: approval_id, sessionId: session_id = '' } = approval
  const part = votePart(recording, parts)
  if (votes.length + 1 < hitl.quorum) {
    await putBeside(approval, part, parts)
    await parts.journal.append([voteEntry(recording, part, parts)])
    const recorded = { votes: votes.length + 1, quorum: hitl.quorum, capsuleId: null }
    return { kind: 'recorded', repeated: false, state: 'pending', ...recorded }
  }
  const at = parts.journal.timestamp()
  const record = approvalRecord('pass', part.digest)
  const resumed = signed('SESSION_RESUMED', { session_id, approval_id }, parts)
  const step = { code: 'session_resumed', at, record, evidence: [part] } as const
  return settle(recording, part, step, parts, [resumed])
}

/** The first refusal ends the item, and the session that it is about. */
export async function recordDeny(recording: Recording, parts: Parts): Promise<Resolution> {
  const { holds, sessionId: session_id = '' } = recording.approval
  const part = votePart(recording, parts)
  const record = approvalRecord('fail', part.digest)
  const at = parts.journal.timestamp()
  const common = { at, record, evidence: [part] }
  if (holds !== 'session') {
    return settle(recording, part, { ...common, code: 'approval_refused' }, parts)
  }
  const closed = signed('SESSION_CLOSED', { session_id, reason: 'refused' }, parts)
  return settle(recording, part, { ...common, code: 'session_ended' }, parts, [closed])
}

const MOST_SECONDS = 31_536_000

/** A deferral has a summary of its own in evidence, and its time counts from its own capsule (seed §5.4). */
export async function recordDefer(
  recording: Recording,
  { ttlSeconds, onExpiry }: Extract<Outcome, { kind: 'defer' }>,
  parts: Parts,
): Promise<Resolution> {
  const { approval } = recording
  if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MOST_SECONDS) {
    return refused('ttl', `whole seconds, from 1 to ${MOST_SECONDS}`)
  }
  if (onExpiry === 'escalated' && approval.rung >= approval.hitl.ladder.length) {
    return refused('ladder', 'there is nobody further up to pass it on to')
  }
  const part = votePart(recording, parts)
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
  const record = approvalRecord('n/a', summary.digest)
  const step = { code: 'approval_deferred', at, record, evidence: [part, summary], expiry } as const
  return settle(recording, part, step, parts)
}

/** One capsule, with the vote's line in the same append. */
async function settle(
  recording: Recording,
  part: EvidencePart,
  step: Omit<Transition, 'approval' | 'actionId' | 'by' | 'events' | 'code'> & {
    readonly code: keyof typeof STATES
  },
  parts: Parts,
  more: readonly JournalEntry[] = [],
): Promise<Resolution> {
  const { approval, decision, actionId } = recording
  const by = byOf(approval, decision, parts)
  const events = [voteEntry(recording, part, parts), ...more]
  const { capsuleId } = await transition({ ...step, approval, actionId, by, events }, parts)
  const { votes, hitl } = approval
  const state = STATES[step.code]
  const recorded = { votes: votes.length, quorum: hitl.quorum, capsuleId }
  return { kind: 'recorded', repeated: false, state, ...recorded }
}

const STATES = {
  approval_deferred: 'deferred',
  approval_refused: 'refused',
  session_ended: 'refused',
  session_resumed: 'resumed',
} as const

/** The caller of `resolve` has authenticated the person. */
function byOf(
  approval: Approval,
  { decider, outcome }: Decision,
  { tenant, journal }: Parts,
): NonNullable<Transition['by']> {
  if (decider.kind === 'machine') return { kind: 'machine', authority: tenant.voter(decider.name) }
  const { name: approver, assurance } = decider
  const at = journal.timestamp()
  const resumes = outcome.kind === 'approve' && approval.holds === 'session'
  const said = resumes ? 'resume' : outcome.kind
  const assent = { ...assentTo(approval), approver, assurance, outcome: said, at } as const
  return { kind: 'human', decision: HumanDecision.authenticated(assent) }
}

/** Name, roles and reason are private: only the evidence has them (promise 8). */
function votePart({ approval, decision }: Recording, parts: Parts): EvidencePart {
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
  { approval, decision }: Recording,
  part: EvidencePart,
  parts: Parts,
): JournalEntry {
  const { decider, outcome } = decision
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

/** A grant under rules that have changed could not be used, so the decision is refused. */
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

/** Bounds must hold for the arguments that were shown. */
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
