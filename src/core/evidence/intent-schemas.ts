import * as s from './schema-parts.js'

/** The record of a gap, as its journal line has it (seed intent-declaration-primitive-01 §5.5.1). */
const GAP = s.closed({
  idp_id: s.NAME,
  state_transition_id: s.NAME,
  transition_digest: s.DIGEST,
  verified_at: s.TIME,
  match_result: { const: 'IDP_COMMITMENT_GAP' },
  basis: s.oneOf('written', 'judged'),
  kid: s.NAME,
  kernel_signature: s.NAME,
})

const DECLARED = s.closed(
  {
    idp_id: s.NAME,
    step_sequence: s.COUNT,
    requested_action: s.NAME,
    profile: s.oneOf('IDP_STANDARD', 'IDP_THIN'),
    hem_urgency: s.oneOf('NONE', 'RECOMMENDED', 'REQUIRED'),
    audit_accessible: { const: true },
  },
  {
    declared_goal: s.orNull(s.TEXT),
    reasoning_type: s.orNull(s.TEXT),
    reasoning: s.orNull(s.TEXT),
    confidence_level: s.orNull(s.DECIMAL),
    mission_ref: s.orNull(s.TEXT),
  },
)
const RESTRICTED = s.closed({ audit_accessible: { const: false } })

/** What the agent declared, as people are shown it, and why the gate stopped its session. */
export const IDP_SUMMARY: s.Schema = s.closed(
  { idp: { anyOf: [DECLARED, RESTRICTED] } },
  { verification_record: GAP },
)

/** Behind the record `dev.capsulegate.hem_urgency`: the declaration that demands a person. */
export const HEM_URGENCY: s.Schema = s.closed({
  constraint: { const: 'dev.capsulegate.hem_urgency' },
  intent_digest: s.DIGEST,
  hem_urgency: { const: 'REQUIRED' },
  salt: s.SALT,
})

/** Behind the record `dev.capsulegate.idp_commitment`. */
export const IDP_COMMITMENT: s.Schema = s.closed({
  constraint: { const: 'dev.capsulegate.idp_commitment' },
  record: GAP,
  salt: s.SALT,
})

/** Behind the record `dev.capsulegate.idp_mission`: too many declarations of a session named another mission. */
export const IDP_MISSION: s.Schema = s.closed({
  constraint: { const: 'dev.capsulegate.idp_mission' },
  salt: s.SALT,
})

/** Behind MANDATE_PRESENTED: what the mandate said, without the token. */
export const MANDATE: s.Schema = s.closed(
  {
    id: s.NAME,
    issuer: s.NAME,
    agent: s.NAME,
    soId: s.NAME,
    actions: s.listOf(s.NAME),
    expiresAt: s.TIME,
    salt: s.SALT,
  },
  {
    sessionId: s.orNull(s.NAME),
    soType: s.orNull(s.NAME),
    permittedStates: s.orNull(s.listOf(s.NAME)),
    missionRef: s.orNull(s.NAME),
    principal: s.orNull(s.TEXT),
    delegation: s.listOf(true),
  },
)
