import {
  currentState,
  stateAfter,
  transitionOf,
  UNKNOWN_STATE,
} from '../../../core/intent/object.js'
import { plainEntry, verifiedEntry } from '../../../core/journal/entry.js'
import type { IntentStep } from '../../../core/journal/lines/call.js'
import { signVerification } from '../../../core/journal/verification.js'
import { canonicalOf, textDigest } from '../../../core/json/build.js'
import { TABLE } from '../../../core/verdict/table.js'
import type { JournalEntry } from '../../../ports/journal.js'
import type { OnRecord, Parts, Reserved } from '../../context.js'
import type { Commitment, Sent } from '../../govern/exit.js'
import { principalOf } from '../declare/may-proceed.js'

/** The step that a dispatch is, and what it makes of its object if it is confirmed. */
export function stepOf({ rule, object }: Reserved, { intent, eventId }: OnRecord): IntentStep {
  const model = object?.model ?? null
  const from = model === null ? null : currentState(model, object?.state ?? null)
  const to = model === null ? null : stateAfter(model, object?.state ?? null, rule.action)
  return {
    event_id: eventId,
    idp_id: intent.idpId,
    session_id: intent.sessionId,
    so_id: intent.soId,
    step_sequence: intent.step,
    cedar_action: rule.action,
    from_state: from === UNKNOWN_STATE ? null : from,
    to_state: to === UNKNOWN_STATE ? null : to,
  }
}

/** What stands beside the capsule of a declared call: what became of its object, and of what was promised (§5.3, §5.5). */
export function transitionEntries(
  { known, code, commitment }: Sent,
  parts: Parts,
): readonly JournalEntry[] {
  const { intent, actionId, object, rule } = known
  if (intent === null || commitment === null) return []
  const step = stepOf(known, intent)
  const event_id = parts.ids.actionId()
  const members = { ...step, event_id, action_id: actionId }
  const isConfirmed = TABLE[code].effect === 'confirmed'
  const changes = object?.model != null && transitionOf(object.model, rule.action) !== undefined
  const entry = isConfirmed
    ? plainEntry('STATE_TRANSITIONED', {
        ...members,
        // What was sent is something else: what it made of the object is not known.
        ...(commitment.matched ? {} : { to_state: null }),
        ...(changes ? { principal: principalOf(known, parts) } : {}),
      })
    : plainEntry('ACTION_RESULT_RECORDED', {
        ...members,
        ...resultOf(code, step, changes || !commitment.matched),
      })
  return [entry, verificationEntry(intent, commitment, entry, event_id, actionId, parts)]
}

/** A clean failure changed nothing; after anything else that was sent nobody knows. */
export function resultOf(
  code: Sent['code'],
  { from_state }: Pick<IntentStep, 'from_state'>,
  changes: boolean,
): { readonly result: 'failed' | 'unconfirmed'; readonly to_state: string | null } {
  const failed = code === 'tool_refused'
  return failed
    ? { result: 'failed', to_state: from_state }
    : { result: 'unconfirmed', to_state: changes ? null : from_state }
}

function verificationEntry(
  { intent }: OnRecord,
  { matched, basis }: Commitment,
  transition: { readonly members: object },
  state_transition_id: string,
  action_id: string,
  parts: Parts,
): JournalEntry {
  const record = {
    idp_id: intent.idpId,
    state_transition_id,
    transition_digest: textDigest(canonicalOf({ ...transition.members }), parts.crypto),
    verified_at: parts.journal.timestamp(),
    basis,
  }
  const members = { action_id, session_id: intent.sessionId }
  if (matched) return verifiedEntry({ ...record, match_result: 'MATCHED' }, members)
  // People are shown the record of a gap, so it is signed before its line is written.
  const { signer } = parts
  const gap = { ...record, match_result: 'IDP_COMMITMENT_GAP' as const }
  const signed = signVerification(gap, {
    kid: signer.kid('event'),
    sign: (message) => signer.sign('event', message),
  })
  return plainEntry('IDP_COMMITMENT_GAP', { ...members, record: signed })
}
