import type { Intent, Mandate } from './model.js'

/**
 * What policies see of a declaration (seed intent-declaration-primitive-01 §5.4); a null is no attribute there.
 * A thin one without `hem_urgency` reads as NONE, and so does one that says NONE: policies see neither, because
 * a default must not satisfy one.
 */
export const policyIntent = ({
  profile,
  goal,
  reasoning,
  confidence,
  hemUrgency,
  missionRef,
}: Intent) => ({
  profile,
  reasoning_type: reasoning === null ? null : reasoning.type,
  confidence_level: confidence,
  hem_urgency: profile === 'IDP_THIN' && hemUrgency === 'NONE' ? null : hemUrgency,
  goal_id: goal === null ? null : goal.id,
  mission_ref: missionRef,
})

export const policyMandate = ({ id, issuer, missionRef, delegation }: Mandate) => ({
  id,
  issuer,
  mission_ref: missionRef,
  depth: delegation.length,
})
