import { APPROVAL, APPROVAL_DOCUMENT, REOPENING, STANDING_ORDER, VOTE } from './approval-schemas.js'
import { HEM_URGENCY, IDP_COMMITMENT, IDP_MISSION, MANDATE } from './intent-schemas.js'
import * as s from './schema-parts.js'

const UID = s.closed({ type: s.NAME, id: s.TEXT })
const DECIMAL = s.closed({ __extn: s.closed({ fn: { const: 'decimal' }, arg: s.DECIMAL }) })
/** Never an entity, and no extension but a decimal (adapters/cedar/evaluate/request.ts). */
const ARGUMENT: s.Schema = {
  anyOf: [s.TEXT, { type: 'boolean' }, { type: 'integer' }, DECIMAL, s.listOf(s.TEXT)],
}
/** Cedar's own form: any Cedar reads it again, once the empty lists are back. */
const CEDAR_REQUEST = s.closed({
  principal: UID,
  action: UID,
  resource: UID,
  context: s.closed(
    { approval: s.closed({ granted: { type: 'boolean' } }) },
    {
      args: s.mapOf(ARGUMENT),
      idp: s.closed(
        { profile: s.oneOf('IDP_STANDARD', 'IDP_THIN') },
        {
          reasoning_basis: s.closed({ type: s.TEXT }),
          confidence_level: DECIMAL,
          hem_urgency: s.TEXT,
          goal_id: s.TEXT,
          mission_ref: s.TEXT,
        },
      ),
      mandate: s.closed({ id: s.TEXT, issuer: s.TEXT, depth: s.COUNT }, { mission_ref: s.TEXT }),
    },
  ),
  entities: s.listOf(s.closed({ uid: UID }, { attrs: s.mapOf(s.TEXT), parents: s.listOf(UID) })),
})

const decided = {
  constraint: { const: 'dev.capsulegate.cedar' },
  policy_digest: s.DIGEST,
  salt: s.SALT,
}

/** Behind the record `dev.capsulegate.cedar`: the request and what Cedar said, or why it could not. */
const CEDAR: s.Schema = {
  anyOf: [
    s.closed(
      { ...decided, decision: s.oneOf('permit', 'deny', 'ask'), request: CEDAR_REQUEST },
      {
        policies: s.listOf(s.NAME),
        observed: s.listOf(s.closed({ id: s.NAME, would: s.oneOf('permit', 'deny', 'ask') })),
      },
    ),
    s.closed(
      { ...decided, decision: { const: 'error' }, error: s.NAME },
      {
        request: s.closed(
          {},
          { principal: s.orNull(s.TEXT), action: s.orNull(s.TEXT), resource: s.orNull(s.TEXT) },
        ),
      },
    ),
  ],
}

/** Behind the record `dev.capsulegate.not_read`: names that observe mode let pass. */
const NOT_READ: s.Schema = s.closed(
  { constraint: { const: 'dev.capsulegate.not_read' }, manifest_digest: s.DIGEST, salt: s.SALT },
  { members: s.listOf(s.TEXT), query: s.listOf(s.TEXT) },
)

/** The evidence behind the gate's own records, under the record's id, and what those name by digest. */
export const GATE_SCHEMAS = {
  $schema: s.DIALECT,
  $id: 'urn:capsule-gate:evidence:gate:1',
  title: 'Evidence behind the records that capsule-gate itself writes',
  $defs: {
    'dev.capsulegate.approval': APPROVAL,
    'dev.capsulegate.cedar': CEDAR,
    'dev.capsulegate.hem_urgency': HEM_URGENCY,
    'dev.capsulegate.idp_commitment': IDP_COMMITMENT,
    'dev.capsulegate.idp_mission': IDP_MISSION,
    'dev.capsulegate.not_read': NOT_READ,
    approval_document: APPROVAL_DOCUMENT,
    mandate: MANDATE,
    reopening: REOPENING,
    standing_order: STANDING_ORDER,
    vote: VOTE,
  },
} as const
