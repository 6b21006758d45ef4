import type { Deadline } from '../../core/approval/deadline.js'
import type { HumanDecision } from '../../core/capsule/human.js'
import type { Verdict } from '../../core/capsule/input.js'
import type { ConstraintRecord, ExpiryPolicy } from '../../core/capsule/model.js'
import { TABLE, type TransitionCode } from '../../core/verdict/table.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { reasonPart } from '../evidence/parts.js'
import { subjectOf } from '../evidence/record.js'
import { decidedAction, writeCapsule } from '../write-capsule.js'

/** One step of an open item that no call makes: decided, postponed, passed on, over. */
export type Transition = {
  readonly code: TransitionCode
  readonly approval: Approval
  /** The capsule's own action; it holds the claim on the item's parent. */
  readonly actionId: string
  readonly at: string
  /** Absent: policy. */
  readonly by?:
    | { readonly kind: 'human'; readonly decision: HumanDecision }
    | { readonly kind: 'machine'; readonly authority: string }
  readonly record?: ConstraintRecord
  readonly evidence?: readonly EvidencePart[]
  /** A deferral's own time, chosen by the person (seed §5.4). */
  readonly expiry?: ExpiryPolicy
  /** An escalation's, by the ladder. */
  readonly deadline?: Deadline
  /** Further lines of the same append. */
  readonly events?: readonly JournalEntry[]
}

/** Writes one capsule that supersedes the item's parent; resolves when it is durable. */
export async function transition(step: Transition, parts: Parts): Promise<{ capsuleId: string }> {
  const { approval, actionId, at, record, deadline, events = [], evidence = [] } = step
  const { operator, agent, tool, requestDigest } = approval
  const observed = approval.state.kind === 'approved' ? 'approved_unused' : 'undecided'
  const reason = reasonPart(step.code, { code: step.code, observed }, parts)
  const subject = await subjectOf(approval.approvalId, parts)
  const capsule = await writeCapsule(
    {
      identity: decidedAction(actionId, approval, at),
      verdict: verdictOf(step, reason.digest),
      constraints: record === undefined ? [] : [record],
      extensions: {
        'dev.capsulegate.manifest_digest': approval.manifestDigest,
        'dev.capsulegate.policy_digest': approval.policyDigest,
        'dev.capsulegate.mode': 'enforce',
        'dev.capsulegate.decision_id': approval.approvalId,
        ...(deadline === undefined ? {} : { 'dev.capsulegate.deadline': deadline }),
      },
      chain: { supersedes: approval.parent },
    },
    {
      evidence: { actionId, operator, subject, at, parts: [...evidence, reason] },
      // A decision without its evidence does not count, and no call waits for this one.
      awaited: true,
      beside: () => events,
      about: { agent, tool, request_digest: requestDigest },
    },
    parts,
  )
  return { capsuleId: capsule.capsule_id }
}

function verdictOf({ code, by, expiry }: Transition, reason_digest: string): Verdict {
  if (by?.kind === 'human') {
    const expires = expiry === undefined ? {} : { expiry_policy: expiry }
    return { kind: 'disposed', decision: by.decision, reason_digest, ...expires }
  }
  const { verdict: verdict_class } = TABLE[code]
  switch (verdict_class) {
    case 'timeout':
      return { kind: 'timed_out', reason_digest }
    case 'resolved':
    case 'expired':
    case 'escalated': {
      const authority = by === undefined ? {} : { authority: by.authority }
      return { kind: 'refused', verdict_class, reason_digest, ...authority }
    }
    case 'hitl_dispatched':
    case 'needs_decision':
      throw new TypeError(`${code} opens an item`)
    case 'deferred':
      throw new TypeError('only a person postpones (seed §5.4.1)')
  }
}
