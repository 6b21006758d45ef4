import type { Deadline } from '../../core/approval/deadline.js'
import type { HumanDecision } from '../../core/capsule/human.js'
import type { Verdict } from '../../core/capsule/input.js'
import type { ConstraintRecord, ExpiryPolicy } from '../../core/capsule/model.js'
import { TABLE, type TransitionCode } from '../../core/verdict/table.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { reasonPart } from '../evidence/reason.js'
import { subjectOf } from '../evidence/subject.js'
import { aboutApproval } from '../govern/about.js'
import { decidedAction, evidenceOf, writeCapsule } from '../write-capsule.js'

/** One step of an open item that no call makes: decided, postponed, passed on, over. */
export type Transition = {
  readonly code: TransitionCode
  readonly approval: Approval
  /** The capsule's own action; it holds the claim on the item's parent. */
  readonly actionId: string
  readonly at: string
  readonly by:
    | { readonly kind: 'human'; readonly decision: HumanDecision }
    | { readonly kind: 'machine'; readonly authority: string }
    | { readonly kind: 'policy' }
  readonly record: ConstraintRecord | null
  readonly evidence: readonly EvidencePart[]
  /** A deferral's own time, chosen by the person (seed §5.4). */
  readonly expiry?: ExpiryPolicy
  /** An escalation's: by the ladder. */
  readonly deadline?: Deadline
  /** Events that stand beside the capsule in one append. */
  readonly events?: readonly JournalEntry[]
}

/** The other entrances' `conclude`: one capsule, durable, superseding the item's parent. */
export async function transition(step: Transition, parts: Parts): Promise<{ capsuleId: string }> {
  const { approval, actionId, at, events = [] } = step
  const { operator } = approval
  const reason = reasonPart(step.code, reasonOf(step), parts)
  const subject = await subjectOf(approval.approvalId, parts)
  const capsule = await writeCapsule(
    {
      what: {
        kind: 'verdict',
        input: {
          identity: decidedAction(actionId, approval, at),
          verdict: verdictOf(step, reason.digest),
          constraints: step.record === null ? [] : [step.record],
          extensions: {
            'dev.capsulegate.manifest_digest': approval.manifestDigest,
            'dev.capsulegate.policy_digest': approval.policyDigest,
            'dev.capsulegate.mode': 'enforce',
            'dev.capsulegate.decision_id': approval.approvalId,
            ...(step.deadline === undefined ? {} : { 'dev.capsulegate.deadline': step.deadline }),
          },
          chain: { supersedes: approval.parent },
        },
      },
      evidence: evidenceOf({ operator, actionId }, at, [...step.evidence, reason], subject),
      // A decision without its evidence is none, and nobody waits for it as a call does.
      awaited: true,
      beside: () => events,
      ...aboutApproval(approval),
    },
    parts,
  )
  return { capsuleId: capsule.capsule_id }
}

function verdictOf({ code, by, expiry }: Transition, reason_digest: string): Verdict {
  const { verdict } = TABLE[code]
  if (by.kind === 'human') {
    return {
      kind: 'disposed',
      decision: by.decision,
      reason_digest,
      ...(expiry === undefined ? {} : { expiry_policy: expiry }),
    }
  }
  switch (verdict) {
    case 'timeout':
      return { kind: 'timed_out', reason_digest }
    case 'resolved':
    case 'expired':
    case 'escalated':
      return {
        kind: 'refused',
        verdict_class: verdict,
        reason_digest,
        ...(by.kind === 'machine' ? { authority: by.authority } : {}),
      }
    case 'deferred':
      throw new TypeError('only a person postpones (seed §5.4.1)')
  }
}

const reasonOf = ({ code, approval }: Transition) => ({
  code,
  observed: approval.state.kind === 'approved' ? 'approved_unused' : 'undecided',
})
