import {
  anyText,
  flag,
  json,
  list,
  nullable,
  type Of,
  oneOf,
  positive,
  record,
  text,
  time,
} from '../json/shape.js'

/**
 * What an agent declares of a call, as read from the octets it sent (seed intent-declaration-primitive-01
 * §4.1, §7). What a thin declaration leaves out is null here: the stubs of §7 stand in the journal line alone,
 * so that no policy is satisfied by one (§5.4).
 */
export const intent = record({
  idpId: text,
  sessionId: text,
  soId: text,
  mandateId: text,
  missionRef: nullable(text),
  step: positive,
  requestedAction: text,
  profile: oneOf('IDP_STANDARD', 'IDP_THIN'),
  goal: nullable(record({ id: text, description: text })),
  reasoning: nullable(record({ type: text, description: text })),
  /** Rounded down to four digits, as Cedar compares it: `0.7999`. */
  confidence: nullable(text),
  hemUrgency: oneOf('NONE', 'RECOMMENDED', 'REQUIRED'),
  contextRefs: list(text),
  auditAccessible: flag,
  /** The agent's own time, as it wrote it. */
  timestamp: time,
  /** Marks of personal data that were let through: field and kind, never the value (§9). */
  pii: list(record({ field: text, marker: text })),
})
export type Intent = Of<typeof intent>

/** What a verified mandate JWT says. Kept with a frozen call, without the token itself. */
export const mandate = record({
  /** `jti`: names the mandate in every step, so it is no one-time value. */
  id: text,
  issuer: text,
  agent: text,
  /** Null: the first declaration under it names the session. */
  sessionId: nullable(text),
  soId: text,
  soType: nullable(text),
  /** `cedar_actions`. */
  actions: list(text),
  /** Null: in every state. */
  permittedStates: nullable(list(text)),
  missionRef: nullable(text),
  /** `human_principal_id`: a person's name, never in a line. */
  principal: nullable(anyText),
  /** The principals of the issuance chain, as the token has them (§8.5). */
  delegation: list(json),
  expiresAt: time,
})
export type Mandate = Of<typeof mandate>

/** What a call brought of intent and mandate, before anything is known of either. */
export type Declared =
  | {
      readonly kind: 'carried'
      /** The declaration's own octets. */
      readonly intent: Uint8Array | null
      /** A JWT. */
      readonly mandate: string | null
      /** Why what was carried cannot be used: it is answered as IDP_MALFORMED. */
      readonly fault?: DeclaredFault
    }
  /** A call that goes on by itself: its declaration stands in the journal already. */
  | ({ readonly kind: 'committed' } & Committed)
export type DeclaredFault =
  | 'intent_encoding'
  | 'intent_too_long'
  | 'intent_repeated'
  | 'intent_carriers_differ'
  | 'mandate_repeated'
  | 'mandate_carriers_differ'

/** A declaration that stands in the journal. */
export const committed = record({
  intent,
  mandate,
  /** Of its IDP_SUBMITTED line; what capsules name as `intent_ref`. */
  eventId: text,
  /** SHA-256 of the received octets. */
  digest: text,
})
export type Committed = Of<typeof committed>

/** Octets of a declaration, decoded: 8 KiB of base64url (DESIGN §7). */
export const MOST_INTENT_BYTES = 6144
/** Characters of a mandate. */
export const MOST_MANDATE_LENGTH = 16 * 1024
