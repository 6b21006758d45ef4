import type { ToolRule } from '../manifest/model.js'
import type { Intent, Mandate } from './model.js'
import { withinSkew } from './skew.js'

/**
 * What a declaration is compared with, in the order of the seed (intent-declaration-primitive-01 §5.2): after
 * `checkRule` comes (c), after `checkBinding` (f); these two need what has been committed before.
 */
export type IntentRefusal =
  | { readonly code: 'IDP_MALFORMED'; readonly field: string; readonly detail: string }
  | { readonly code: 'IDP_THIN_NOT_ACCEPTED' }
  /** `with`: what it differs from. */
  | { readonly code: 'IDP_SO_MISMATCH'; readonly with: 'mandate' | 'request' }
  | { readonly code: 'IDP_MANDATE_MISMATCH' }
  | { readonly code: 'IDP_SESSION_MISMATCH' }
  | { readonly code: 'IDP_MISSION_REF_MISMATCH'; readonly mismatch: MissionMismatch }
/** `mismatch_detail` (§6.2). */
export type MissionMismatch = {
  readonly expected_mission_ref: string
  /** Null: the declaration has none. */
  readonly submitted_mission_ref: string | null
}

/** (b), beyond what the declaration says of itself, and whether a thin one will do (§7). */
export function checkRule(
  { requestedAction, profile }: Intent,
  { action, thin }: Pick<ToolRule, 'action' | 'thin'>,
): IntentRefusal | null {
  if (requestedAction !== action) {
    return malformed('requested_action', 'is not the action of the tool that was called')
  }
  return thin === 'refuse' && profile === 'IDP_THIN' ? { code: 'IDP_THIN_NOT_ACCEPTED' } : null
}

/**
 * The rest of (b), for declarations that are not on record: what is was in time when it came, and comes again when a
 * person has decided, or when a connection broke.
 */
export const checkTime = (
  { timestamp }: Intent,
  received: {
    readonly at: string
    readonly skewSeconds: number
  },
): IntentRefusal | null =>
  withinSkew(timestamp, received.at, received.skewSeconds)
    ? null
    : malformed('timestamp', `is not within ${received.skewSeconds} seconds of its receipt`)

/** (d) and (e): the object, the mandate and the session it speaks of are those of the call, as far as the mandate says. */
export function checkBinding(
  intent: Intent,
  against: {
    readonly mandate: Mandate
    /** The object that the request itself is about; null: the rule does not tell. */
    readonly objectId: string | null
  },
): IntentRefusal | null {
  const { mandate, objectId } = against
  if (intent.soId !== mandate.soId) return { code: 'IDP_SO_MISMATCH', with: 'mandate' }
  if (objectId !== null && intent.soId !== objectId) {
    return { code: 'IDP_SO_MISMATCH', with: 'request' }
  }
  if (intent.mandateId !== mandate.id) return { code: 'IDP_MANDATE_MISMATCH' }
  const { sessionId } = mandate
  return sessionId === null || sessionId === intent.sessionId
    ? null
    : { code: 'IDP_SESSION_MISMATCH' }
}

/**
 * (g): a standard declaration under the mandate of a mission names that mission; leaving it out is no way around
 * the comparison (§4.2). A thin one has no place for it. A mandate without a mission leaves the agent free.
 */
export function checkMission(
  intent: Intent,
  mandate: Pick<Mandate, 'missionRef'>,
): IntentRefusal | null {
  const { missionRef: expected } = mandate
  const { missionRef: submitted, profile } = intent
  if (expected === null || submitted === expected) return null
  if (submitted === null && profile === 'IDP_THIN') return null
  return {
    code: 'IDP_MISSION_REF_MISMATCH',
    mismatch: { expected_mission_ref: expected, submitted_mission_ref: submitted },
  }
}

const malformed = (field: string, detail: string): IntentRefusal => ({
  code: 'IDP_MALFORMED',
  field,
  detail,
})
