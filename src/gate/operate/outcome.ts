import type { EffectMeta } from '../../core/capsule/input.js'
import type { Capsule } from '../../core/capsule/model.js'
import type { Observation } from '../../core/capsule/observation.js'
import type { Outcome } from '../../core/capsule/outcome.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Parts } from '../context.js'
import { saltedPart } from '../evidence/parts.js'
import { findAction } from '../find-action.js'
import { writeOutcome } from '../write-capsule.js'

/** What became of an action, reported by a person or system that may report it (seed §3.3). */
export type OutcomeReport = {
  readonly actionId: string
  readonly status: 'confirmed' | 'failed' | 'reverted'
  /** The join key to the outside world: a ticket, a ledger entry, a provider's id (seed §5.2). */
  readonly ref: string
  readonly by: string
}
export type OutcomeRecorded =
  | { readonly kind: 'recorded'; readonly actionId: string; readonly capsule: Capsule }
  | { readonly kind: 'unknown_action' }
  /** Nothing was sent for it, so it has no outcome. */
  | { readonly kind: 'never_dispatched'; readonly capsuleId: string }
  /** It has no capsule yet. */
  | { readonly kind: 'in_flight' }

/**
 * A statement beside the original, which stays as it is. The gate did not see what is reported here:
 * `confirmed` is recorded as claimed, and the effect stays dispatched (promise 3).
 */
export async function recordOutcome(report: OutcomeReport, parts: Parts): Promise<OutcomeRecorded> {
  const { status } = report
  const outcome = {
    kind: 'claimed',
    status: status === 'confirmed' ? 'completed' : status,
  } as const
  // Who reported it is private.
  const part = saltedPart('observation', 'outcome', { ...report }, parts)
  return recorded(report.actionId, report.ref, outcome, part, parts)
}

async function recorded(
  of: string,
  external_ref: string,
  outcome: Outcome,
  part: EvidencePart | null,
  parts: Parts,
): Promise<OutcomeRecorded> {
  const lines = await findAction(of, parts)
  if (lines === null) return { kind: 'unknown_action' }
  if (lines.concluded === null) return { kind: 'in_flight' }
  const { capsule: original } = lines.concluded
  const { effect, capsule_id, operator, developer } = original
  if (effect === undefined) return { kind: 'never_dispatched', capsuleId: capsule_id }
  const actionId = parts.ids.actionId()
  const at = parts.journal.timestamp()
  const capsule = await writeOutcome(
    {
      identity: { action_id: actionId, operator, developer, timestamp: at },
      original: {
        capsule_id,
        decision_id: original['dev.capsulegate.decision_id'] ?? original.action_id,
        effect: effectMeta(effect),
      },
      outcome,
      external_ref,
    },
    original,
    {
      evidence: part === null ? null : { actionId, operator, subject: null, at, parts: [part] },
    },
    parts,
  )
  return { kind: 'recorded', actionId, capsule }
}

/** The answer to a call that its server took on and finished later, as the gate itself read it. */
export type TaskResult = {
  readonly actionId: string
  readonly observed: Extract<Observation, { kind: 'complete' }>
  /** The server's name for the task. */
  readonly ref: string
}

/** A statement beside the original, which stays dispatched: this one says what the gate saw in the end (seed §3.3). */
export async function recordTaskResult(
  { actionId: original, observed, ref }: TaskResult,
  parts: Parts,
): Promise<OutcomeRecorded> {
  const status = observed.outcome === 'succeeded' ? 'confirmed' : 'failed'
  return recorded(
    original,
    ref,
    { kind: 'observed', response: observed.response, status },
    null,
    parts,
  )
}

function effectMeta(effect: NonNullable<Capsule['effect']>): EffectMeta {
  const { type, irreversibility_class, request_digest } = effect
  const request_octets = effect['dev.capsulegate.request_octets']
  if (request_digest === undefined || request_octets === undefined) {
    throw new TypeError('an effect of this gate names its request')
  }
  return { type, irreversibility_class, request_digest, request_octets }
}
