import { APPROVAL, APPROVAL_DOCUMENT, REOPENING, STANDING_ORDER, VOTE } from './approval-schemas.js'
import {
  closed,
  DECIMAL,
  DIALECT,
  DIGEST,
  listOf,
  mapOf,
  NAME,
  oneOf,
  orNull,
  SALT,
  type Schema,
  TEXT,
} from './schema-parts.js'

const UID = closed({ type: NAME, id: TEXT })
/** Never an entity, and no extension but a decimal (adapters/cedar/evaluate/request.ts). */
const ARGUMENT: Schema = {
  anyOf: [
    TEXT,
    { type: 'boolean' },
    { type: 'integer' },
    closed({ __extn: closed({ fn: { const: 'decimal' }, arg: DECIMAL }) }),
    listOf(TEXT),
  ],
}
/** Cedar's own form: any Cedar reads it again, once the empty lists are back. */
const CEDAR_REQUEST = closed({
  principal: UID,
  action: UID,
  resource: UID,
  context: closed(
    { approval: closed({ granted: { type: 'boolean' } }) },
    { args: mapOf(ARGUMENT) },
  ),
  entities: listOf(closed({ uid: UID }, { attrs: mapOf(TEXT), parents: listOf(UID) })),
})

const decided = {
  constraint: { const: 'dev.capsulegate.cedar' },
  policy_digest: DIGEST,
  salt: SALT,
}

/** Behind the record `dev.capsulegate.cedar`: the request and what Cedar said, or why it could not. */
const CEDAR: Schema = {
  anyOf: [
    closed(
      { ...decided, decision: oneOf('permit', 'deny', 'ask'), request: CEDAR_REQUEST },
      {
        policies: listOf(NAME),
        observed: listOf(closed({ id: NAME, would: oneOf('permit', 'deny', 'ask') })),
      },
    ),
    closed(
      { ...decided, decision: { const: 'error' }, error: NAME },
      {
        request: closed(
          {},
          { principal: orNull(TEXT), action: orNull(TEXT), resource: orNull(TEXT) },
        ),
      },
    ),
  ],
}

/** Behind the record `dev.capsulegate.not_read`: names that observe mode let pass. */
const NOT_READ: Schema = closed(
  { constraint: { const: 'dev.capsulegate.not_read' }, manifest_digest: DIGEST, salt: SALT },
  { members: listOf(TEXT), query: listOf(TEXT) },
)

/** The evidence behind the gate's own records, under the record's id, and what those name by digest. */
export const GATE_SCHEMAS = {
  $schema: DIALECT,
  $id: 'urn:capsule-gate:evidence:gate:1',
  title: 'Evidence behind the records that capsule-gate itself writes',
  $defs: {
    'dev.capsulegate.approval': APPROVAL,
    'dev.capsulegate.cedar': CEDAR,
    'dev.capsulegate.not_read': NOT_READ,
    approval_document: APPROVAL_DOCUMENT,
    reopening: REOPENING,
    standing_order: STANDING_ORDER,
    vote: VOTE,
  },
} as const
