import type { Capsule } from '../../core/capsule/model.js'
import type { OutcomeInput } from '../../core/capsule/outcome.js'
import type { Parts } from '../context.js'
import { saltedPart } from '../govern/dispatch.js'
import { evidenceOf, writeCapsule } from '../write-capsule.js'

/** What somebody who is entitled to says became of an action (seed §3.3). */
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
  /** Nothing ever left for it, so nothing can have come of it. */
  | { readonly kind: 'never_dispatched'; readonly capsuleId: string }
  /** Its own conclusion is still to come. */
  | { readonly kind: 'in_flight' }

/**
 * A statement of its own beside the original, which stays as it is. What is reported here the gate
 * did not see: `confirmed` by word is recorded as claimed and stays dispatched (promise 3).
 */
export async function recordOutcome(report: OutcomeReport, parts: Parts): Promise<OutcomeRecorded> {
  const lines = await parts.journal.find(report.actionId)
  const original = lines
    .flatMap((line) => (line.type === 'CAPSULE' ? [line.capsule] : []))
    .find(({ action_id }) => action_id === report.actionId)
  if (original === undefined) return { kind: lines.length === 0 ? 'unknown_action' : 'in_flight' }
  const { effect, capsule_id } = original
  if (effect === undefined) return { kind: 'never_dispatched', capsuleId: capsule_id }
  const actionId = parts.ids.actionId()
  const at = parts.journal.timestamp()
  // Who said so is private; the statement says what was said.
  const said = saltedPart('observation', 'outcome', { ...report }, parts)
  const { operator, developer } = original
  const capsule = await writeCapsule(
    {
      what: {
        kind: 'outcome',
        input: {
          identity: { action_id: actionId, operator, developer, timestamp: at },
          original: {
            capsule_id,
            decision_id: original['dev.capsulegate.decision_id'] ?? original.action_id,
            effect: effectMeta(effect),
          },
          outcome: {
            kind: 'claimed',
            status: report.status === 'confirmed' ? 'completed' : report.status,
          },
          external_ref: report.ref,
        },
        of: { operator, actionId: original.action_id },
      },
      evidence: evidenceOf({ operator, actionId }, at, [said]),
    },
    parts,
  )
  return { kind: 'recorded', actionId, capsule }
}

function effectMeta(effect: NonNullable<Capsule['effect']>): OutcomeInput['original']['effect'] {
  const { request_digest } = effect
  const request_octets = effect['dev.capsulegate.request_octets']
  if (request_digest === undefined || request_octets === undefined) {
    throw new TypeError('an effect of this gate names its request')
  }
  const { type, irreversibility_class } = effect
  return { type, irreversibility_class, request_digest, request_octets }
}
