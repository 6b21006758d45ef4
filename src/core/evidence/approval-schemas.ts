import { IRREVERSIBILITY_CLASSES } from '../capsule/registries.js'
import { IDP_SUMMARY } from './intent-schemas.js'
import * as s from './schema-parts.js'

const PAIRS = s.listOf(s.tupleOf(s.TEXT, s.TEXT))
const ASSURANCE = s.oneOf('L1', 'L2', 'L3')
/** Constraints in the manifest's short form, by name (core/approval/bounds.ts). */
const BOUNDS = s.mapOf(true)
const OCTETS = s.closed(
  { alg: s.oneOf('sha-256', 'hmac-sha-256'), digest: s.DIGEST, length: s.COUNT },
  { content_type: s.TEXT },
)
/** Numbers are text, a list carries its count. */
const ARGUMENT = s.closed({
  type: s.oneOf('string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'),
  value: {
    anyOf: [s.TEXT, { type: 'boolean' }, s.closed({ count: s.COUNT }, { items: s.listOf(s.TEXT) })],
  },
})

/** What a person was shown (core/approval/document.ts): behind `document_digest`. */
export const APPROVAL_DOCUMENT: s.Schema = s.closed(
  {
    document: { const: 'gate.approval/v1' },
    approval_id: s.NAME,
    operator: s.NAME,
    agent: s.NAME,
    developer: s.NAME,
    tool: s.NAME,
    request: s.closed(
      { octets: OCTETS },
      {
        method: s.orNull(s.TEXT),
        upstream: s.orNull(s.TEXT),
        target: s.orNull(s.TEXT),
        headers: PAIRS,
        more: s.TEXT,
        definition: s.DIGEST,
        body: s.orNull(s.TEXT),
      },
    ),
    routed_by: s.closed(
      { kind: s.oneOf('policy', 'constraint', 'agent', 'gate') },
      { ids: s.listOf(s.NAME), reason: s.orNull(s.TEXT) },
    ),
    irreversibility: s.closed({ class: s.oneOf(...IRREVERSIBILITY_CLASSES), words: s.NAME }),
    requested_at: s.TIME,
    deadline: s.closed({
      at: s.TIME,
      on_expiry: s.oneOf('timeout', 'expired', 'escalated'),
      words: s.NAME,
    }),
    quorum: s.COUNT,
    min_assurance: ASSURANCE,
    on_approval: s.oneOf('retry', 'dispatch'),
    request_digest: s.DIGEST,
    policy_digest: s.DIGEST,
    manifest_digest: s.DIGEST,
    salt: s.SALT,
  },
  {
    arguments: s.mapOf(ARGUMENT),
    not_judged: s.closed(
      { body: { type: 'boolean' } },
      { query: PAIRS, members: s.listOf(s.TEXT) },
    ),
    roles: s.listOf(s.NAME),
    session_id: s.NAME,
    holds: s.oneOf('session', 'call'),
    idp_summary: IDP_SUMMARY,
    approval_lifts: { type: 'boolean' },
  },
)

/** What a decider said, behind a vote's `evidence_digest`. */
export const VOTE: s.Schema = s.closed(
  {
    vote: { const: 'gate.vote/v1' },
    approval_id: s.NAME,
    on: s.DIGEST,
    document_digest: s.DIGEST,
    name: s.NAME,
    by: s.oneOf('person', 'machine'),
    assurance: ASSURANCE,
    via: s.TEXT,
    outcome: s.oneOf('approve', 'deny', 'defer'),
    salt: s.SALT,
  },
  { roles: s.listOf(s.TEXT), reason: s.TEXT, bounds: BOUNDS },
)

/** Behind the evidence digest of a standing grant: who gave it. */
export const STANDING_ORDER: s.Schema = s.closed(
  { grant: s.NAME, by: s.NAME, agent: s.NAME, tool: s.NAME, uses: s.COUNT, salt: s.SALT },
  { bounds: BOUNDS },
)

/** Behind the evidence digest of a refusal that was taken back. */
export const REOPENING: s.Schema = s.closed(
  { approval_id: s.NAME, on: s.DIGEST, name: s.NAME, reason: s.TEXT, salt: s.SALT },
  { roles: s.listOf(s.TEXT) },
)

const CONSTRAINT = { const: 'dev.capsulegate.approval' }

/**
 * Behind the record `dev.capsulegate.approval`: the votes that let a call run, the standing grant it ran
 * under, the vote that refused it, or the summary of a deferral.
 */
export const APPROVAL: s.Schema = {
  anyOf: [
    s.closed(
      {
        constraint: CONSTRAINT,
        approval_id: s.NAME,
        document_digest: s.DIGEST,
        votes: { ...s.listOf(s.DIGEST), minItems: 1 },
        salt: s.SALT,
      },
      { bounds: s.listOf(BOUNDS) },
    ),
    s.closed(
      {
        constraint: CONSTRAINT,
        grant: s.NAME,
        expires_at: s.TIME,
        uses_left: s.COUNT,
        salt: s.SALT,
      },
      { bounds: BOUNDS },
    ),
    { $ref: '#/$defs/vote' },
    s.closed({
      approval_id: s.NAME,
      document_digest: s.DIGEST,
      on: s.DIGEST,
      vote: s.DIGEST,
      deferred_at: s.TIME,
      ttl_seconds: s.COUNT,
      on_expiry: s.oneOf('expired', 'escalated'),
      salt: s.SALT,
    }),
  ],
}
