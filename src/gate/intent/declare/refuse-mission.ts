import type { MissionMismatch } from '../../../core/intent/check.js'
import type { Intent, Mandate } from '../../../core/intent/model.js'
import type { Admitted, Parts } from '../../context.js'
import { RecordUnavailable, type Refused, refuse } from '../../govern/exit.js'
import { signed } from '../../signed-event.js'
import { refuseSession } from './refuse-session.js'

/** §5.2 (g): answered with both missions, on record, and counted: too many in a session stop it. */
export async function refuseMission(
  known: Admitted,
  of: { readonly mandate: Mandate; readonly intent: Intent },
  mismatch: MissionMismatch,
  parts: Parts,
): Promise<Refused> {
  const { mandate, intent } = of
  const { sessionId: session_id } = intent
  // Restricted by the agent or by the operator: what it names stands in no record that others read (§4.2).
  const auditAccessible = intent.auditAccessible && parts.intents.auditAccessible
  const { actionId, at } = known
  const { agent } = known.agent
  const counted = await parts.state.countMismatch({
    sessionId: session_id,
    agent,
    actionId,
    mandateId: mandate.id,
    at: Date.parse(at),
  })
  if (counted.kind === 'session') return refuseSession(known, intent, counted.why, parts)
  // A session that is not open yet begins here: what is counted is counted in it. Nothing is awaited before its line,
  // which stands before any other of the session.
  if (counted.opens) await opened(session_id, agent, parts)
  const event = signed(
    'IDP_MISSION_REF_MISMATCH_REJECTED',
    {
      event_id: parts.ids.actionId(),
      action_id: actionId,
      idp_id: intent.idpId,
      session_id,
      so_id: intent.soId,
      step_sequence: intent.step,
      mandate_id: mandate.id,
      expected_mission_ref: mismatch.expected_mission_ref,
      ...(auditAccessible ? { submitted_mission_ref: mismatch.submitted_mission_ref } : {}),
    },
    parts,
  )
  const refused = refuse(
    known,
    'intent_mission_mismatch',
    { observed: auditAccessible ? (mismatch.submitted_mission_ref ?? 'none') : 'another' },
    { mismatch_detail: { ...mismatch } },
  )
  const isTooOften = counted.mismatches >= parts.intents.missionMismatches
  if (!isTooOften || !(await mayStop(known, session_id, parts))) {
    return { ...refused, beside: [event] }
  }
  // Where the agent may have no more people asked, as where nobody can be asked, the session ends.
  if (parts.approvals && !(await parts.state.claimOpening(agent, actionId, parts.openPerAgent))) {
    const closed = signed('SESSION_CLOSED', { session_id, reason: 'nobody_to_ask' }, parts)
    return { ...refused, beside: [event, closed] }
  }
  const escalation = { why: 'mission_mismatches', intent: { ...intent, auditAccessible } } as const
  return { ...refused, beside: [event], escalation }
}

async function opened(session_id: string, agent: string, parts: Parts): Promise<void> {
  try {
    await parts.journal.append([signed('SESSION_OPENED', { session_id, agent }, parts)])
  } catch (error) {
    throw new RecordUnavailable(String(error))
  }
}

/** Of many that are too many at once, one stops the session: people are asked once. */
async function mayStop({ actionId }: Admitted, sessionId: string, parts: Parts): Promise<boolean> {
  const claim = await parts.state.claim(`mismatches of ${sessionId}`, actionId)
  if (claim.kind === 'held') return false
  return ((await parts.state.session(sessionId))?.heldBy ?? null) === null
}
