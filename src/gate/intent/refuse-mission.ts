import type { MissionMismatch } from '../../core/intent/check.js'
import type { Intent, Mandate } from '../../core/intent/model.js'
import type { Session } from '../../ports/state.js'
import type { Admitted, Parts } from '../context.js'
import { type Refused, refuse } from '../govern/exit.js'
import { signed } from '../signed-event.js'

/** §5.2 (g): answered with both missions, on record, and counted: too many in a session stop it. */
export function refuseMission(
  known: Admitted,
  of: { readonly mandate: Mandate; readonly intent: Intent; readonly session: Session | null },
  mismatch: MissionMismatch,
  parts: Parts,
): Refused {
  const { mandate, intent, session } = of
  const { sessionId: session_id } = intent
  const { agent } = known.agent
  const event = signed(
    'IDP_MISSION_REF_MISMATCH_REJECTED',
    {
      event_id: parts.ids.actionId(),
      action_id: known.actionId,
      idp_id: intent.idpId,
      session_id,
      so_id: intent.soId,
      step_sequence: intent.step,
      mandate_id: mandate.id,
      ...mismatch,
    },
    parts,
  )
  // A session that is not open yet begins here: what is counted is counted in it.
  const begins = session === null ? [signed('SESSION_OPENED', { session_id, agent }, parts)] : []
  const refused = refuse(
    known,
    'intent_mission_mismatch',
    { observed: mismatch.submitted_mission_ref ?? 'none' },
    { mismatch_detail: { ...mismatch } },
  )
  const beside = [...begins, event]
  const isTooOften = (session?.mismatches ?? 0) + 1 >= parts.intents.missionMismatches
  const stops = isTooOften && session?.heldBy == null
  return stops
    ? { ...refused, beside, escalation: { why: 'mission_mismatches', intent } }
    : { ...refused, beside }
}
