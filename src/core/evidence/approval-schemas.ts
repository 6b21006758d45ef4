import { IRREVERSIBILITY_CLASSES } from '../capsule/registries.js'
import {
  COUNT,
  closed,
  DIGEST,
  listOf,
  mapOf,
  NAME,
  oneOf,
  orNull,
  SALT,
  type Schema,
  TEXT,
  TIME,
  tupleOf,
} from './schema-parts.js'

const PAIRS = listOf(tupleOf(TEXT, TEXT))
const ASSURANCE = oneOf('L1', 'L2', 'L3')
/** Constraints in the manifest's short form, by name (core/approval/bounds.ts). */
const BOUNDS = mapOf(true)
const OCTETS = closed(
  { alg: oneOf('sha-256', 'hmac-sha-256'), digest: DIGEST, length: COUNT },
  { content_type: TEXT },
)
/** Numbers are text, a list carries its count. */
const ARGUMENT = closed({
  type: oneOf('string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'),
  value: { anyOf: [TEXT, { type: 'boolean' }, closed({ count: COUNT }, { items: listOf(TEXT) })] },
})

/** What a person was shown (core/approval/document.ts): behind `document_digest`. */
export const APPROVAL_DOCUMENT: Schema = closed(
  {
    document: { const: 'gate.approval/v1' },
    approval_id: NAME,
    operator: NAME,
    agent: NAME,
    developer: NAME,
    tool: NAME,
    request: closed(
      { octets: OCTETS },
      {
        method: orNull(TEXT),
        upstream: orNull(TEXT),
        target: orNull(TEXT),
        headers: PAIRS,
        body: orNull(TEXT),
      },
    ),
    routed_by: closed(
      { kind: oneOf('policy', 'constraint') },
      { ids: listOf(NAME), reason: orNull(TEXT) },
    ),
    irreversibility: closed({ class: oneOf(...IRREVERSIBILITY_CLASSES), words: NAME }),
    requested_at: TIME,
    deadline: closed({
      at: TIME,
      on_expiry: oneOf('timeout', 'expired', 'escalated'),
      words: NAME,
    }),
    quorum: COUNT,
    min_assurance: ASSURANCE,
    on_approval: oneOf('retry', 'dispatch'),
    request_digest: DIGEST,
    policy_digest: DIGEST,
    manifest_digest: DIGEST,
    salt: SALT,
  },
  {
    arguments: mapOf(ARGUMENT),
    not_judged: closed({ body: { type: 'boolean' } }, { query: PAIRS, members: listOf(TEXT) }),
    roles: listOf(NAME),
  },
)

/** What a decider said, behind a vote's `evidence_digest`. */
export const VOTE: Schema = closed(
  {
    vote: { const: 'gate.vote/v1' },
    approval_id: NAME,
    on: DIGEST,
    document_digest: DIGEST,
    name: NAME,
    by: oneOf('person', 'machine'),
    assurance: ASSURANCE,
    via: TEXT,
    outcome: oneOf('approve', 'deny', 'defer'),
    salt: SALT,
  },
  { roles: listOf(TEXT), reason: TEXT, bounds: BOUNDS },
)

/** Behind the evidence digest of a standing grant: who gave it. */
export const STANDING_ORDER: Schema = closed(
  { grant: NAME, by: NAME, agent: NAME, tool: NAME, uses: COUNT, salt: SALT },
  { bounds: BOUNDS },
)

/** Behind the evidence digest of a refusal that was taken back. */
export const REOPENING: Schema = closed(
  { approval_id: NAME, on: DIGEST, name: NAME, reason: TEXT, salt: SALT },
  { roles: listOf(TEXT) },
)

const CONSTRAINT = { const: 'dev.capsulegate.approval' }

/**
 * Behind the record `dev.capsulegate.approval`: the votes that let a call run, the standing grant it ran
 * under, the vote that refused it, or the summary of a deferral.
 */
export const APPROVAL: Schema = {
  anyOf: [
    closed(
      {
        constraint: CONSTRAINT,
        approval_id: NAME,
        document_digest: DIGEST,
        votes: { ...listOf(DIGEST), minItems: 1 },
        salt: SALT,
      },
      { bounds: listOf(BOUNDS) },
    ),
    closed(
      { constraint: CONSTRAINT, grant: NAME, expires_at: TIME, uses_left: COUNT, salt: SALT },
      { bounds: BOUNDS },
    ),
    { $ref: '#/$defs/vote' },
    closed({
      approval_id: NAME,
      document_digest: DIGEST,
      on: DIGEST,
      vote: DIGEST,
      deferred_at: TIME,
      ttl_seconds: COUNT,
      on_expiry: oneOf('expired', 'escalated'),
      salt: SALT,
    }),
  ],
}
