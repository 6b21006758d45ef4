import {
  checkBinding,
  checkMission,
  checkRule,
  checkTime,
  type IntentRefusal,
} from '../../../core/intent/check.js'
import type { Intent, Mandate } from '../../../core/intent/model.js'
import { objectIdOf } from '../../../core/intent/object-id.js'
import { readIntent } from '../../../core/intent/read.js'
import type { Session } from '../../../ports/state.js'
import type { Admitted, OnRecord, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { refuseMission } from './refuse-mission.js'
import { repeated } from './repeated.js'

export type Valid =
  | { readonly kind: 'new'; readonly intent: Intent; readonly octets: Uint8Array }
  /** The same declaration of the same waiting call: it is one step, and is not committed again. */
  | { readonly kind: 'on_record'; readonly intent: OnRecord }

/** Seed intent-declaration-primitive-01 §5.2, (b) to (g) in their order; (c) and (f) once more where it is committed. */
export async function validate(
  admitted: Admitted,
  mandate: Mandate,
  octets: Uint8Array,
  parts: Parts,
): Promise<Valid | Refused> {
  const { rule, manifest, args, agent, at } = admitted
  const known = advance(admitted, { mandate, intent: null, object: null })
  const read = readIntent(octets, { pii: parts.intents.pii })
  if (!read.ok) {
    const { field, detail: fault } = read
    return refuse(known, 'intent_malformed', { observed: field }, { field, fault })
  }
  const { intent } = read
  const malformed = checkRule(intent, rule)
  if (malformed !== null) return refusalOf(malformed, known)
  const earlier = await parts.state.committed(mandate.soId, intent.idpId)
  const again = earlier === null ? null : await repeated(known, earlier, octets, parts)
  if (again !== null && 'exit' in again) return again
  const { skewSeconds } = parts.intents
  const late = again === null ? checkTime(intent, { at, skewSeconds }) : null
  if (late !== null) return refusalOf(late, known)
  const { object } = manifest
  const objectId = object === undefined ? null : objectIdOf(object, args, parts.crypto)
  const unbound = checkBinding(intent, { mandate, objectId })
  if (unbound !== null) return refusalOf(unbound, known)
  if (again !== null) return again
  const { sessionId } = intent
  const session = await parts.state.session(sessionId)
  if (session !== null && session.agent !== agent.agent) {
    return refuse(known, 'intent_session_mismatch', { observed: 'of_another_agent' })
  }
  if (await parts.state.isOver(sessionId)) return refuse(known, 'session_over')
  if (session !== null && intent.step <= session.lastStep) return stale(known, session)
  const mismatch = checkMission(intent, mandate)
  return mismatch?.code === 'IDP_MISSION_REF_MISMATCH'
    ? refuseMission(known, { mandate, intent }, mismatch.mismatch, parts)
    : { kind: 'new', intent, octets }
}

export const stale = (known: Admitted, { lastStep }: Pick<Session, 'lastStep'>): Refused =>
  refuse(
    known,
    'intent_step_stale',
    { observed: 'step_sequence' },
    { field: 'step_sequence', last_committed: lastStep },
  )

function refusalOf(refusal: IntentRefusal, known: Admitted): Refused {
  switch (refusal.code) {
    case 'IDP_MALFORMED': {
      const { field, detail: fault } = refusal
      return refuse(known, 'intent_malformed', { observed: field }, { field, fault })
    }
    case 'IDP_THIN_NOT_ACCEPTED':
      return refuse(known, 'intent_thin_refused')
    case 'IDP_SO_MISMATCH':
      return refuse(known, 'intent_object_mismatch', { observed: refusal.with })
    case 'IDP_MANDATE_MISMATCH':
      return refuse(known, 'intent_mandate_mismatch')
    case 'IDP_SESSION_MISMATCH':
      return refuse(known, 'intent_session_mismatch', { observed: 'of_the_mandate' })
    case 'IDP_MISSION_REF_MISMATCH':
      return refuse(known, 'intent_mission_mismatch')
  }
}
