import type { Intent } from './model.js'
import { piiMarkers } from './pii.js'

/**
 * What the record of a submitted declaration says in the places a thin one leaves out (seed
 * intent-declaration-primitive-01 §7). For the journal only: see `policyIntent` for what policies get.
 */
export const THIN_STUB = {
  goal_id: 'UNSPECIFIED',
  reasoning_type: 'UNSPECIFIED',
  confidence_level: '0.5',
} as const

export const recordedIntent = ({
  goal,
  reasoning,
  confidence,
  hemUrgency,
  missionRef,
}: Intent) => ({
  goal_id: goal === null ? THIN_STUB.goal_id : goal.id,
  reasoning_type: reasoning === null ? THIN_STUB.reasoning_type : inTheOpen(reasoning.type),
  confidence_level: confidence ?? THIN_STUB.confidence_level,
  hem_urgency: hemUrgency,
  mission_ref: missionRef,
})

/** Any text is a type (§4.3); one with a mark of personal data stands in the encrypted octets alone (§9). */
const inTheOpen = (type: string): string => (piiMarkers(type).length === 0 ? type : 'WITHHELD')
