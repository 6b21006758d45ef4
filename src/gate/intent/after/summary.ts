import type { Intent } from '../../../core/intent/model.js'
import type { Plain } from '../../../core/json/value.js'

/**
 * A declaration as people are shown it: quoted, and named as the agent's words. Of a restricted one they are told that
 * it is: its words are for external auditors alone (seed intent-declaration-primitive-01 §4.2).
 */
export const summaryOf = (intent: Intent): { readonly [name: string]: Plain } =>
  intent.auditAccessible ? whole(intent) : { audit_accessible: false }

const whole = (intent: Intent): { readonly [name: string]: Plain } => ({
  idp_id: intent.idpId,
  step_sequence: intent.step,
  requested_action: intent.requestedAction,
  profile: intent.profile,
  declared_goal: intent.goal === null ? null : intent.goal.description,
  reasoning_type: intent.reasoning === null ? null : intent.reasoning.type,
  reasoning: intent.reasoning === null ? null : intent.reasoning.description,
  confidence_level: intent.confidence,
  hem_urgency: intent.hemUrgency,
  mission_ref: intent.missionRef,
  audit_accessible: true,
})
