import {
  anyText,
  count,
  digest,
  either,
  flag,
  list,
  oneOf,
  only,
  optional,
  record,
  text,
  time,
} from '../json/shape.js'
import {
  CHAIN_RELATIONS,
  DECISIONS,
  EFFECT_ATTESTATIONS,
  IRREVERSIBILITY_CLASSES,
  VERDICT_CLASSES,
} from './registries.js'

/** The capsule of draft -01 as this gate writes it: wire names, seed §5, plus our namespaced members. */
export const SPEC_VERSION = 'draft-mih-scitt-agent-action-capsule-01'
export const FORMAT_VERSION = '2'

export const mode = oneOf('enforce', 'observe')
export const irreversibility = oneOf(...IRREVERSIBILITY_CLASSES)
export const verdictClass = oneOf(...VERDICT_CLASSES)
export const onExpiry = oneOf('timeout', 'expired', 'escalated')

/** Exact octets of a message body: after chunking is removed, before any content coding is. */
export const octets = record({
  /** `hmac-sha-256`: under a key of the tenant's, for tools with `digest_salt: tenant` (seed §13). */
  alg: oneOf('sha-256', 'hmac-sha-256'),
  digest,
  length: count,
  content_type: optional(anyText),
  content_encoding: optional(anyText),
  status: optional(count),
  complete: optional(only(true)),
})

export const result = oneOf('pass', 'fail', 'n/a')
export const severity = oneOf('low', 'medium', 'high', 'critical')

/** Seed §8.1: categories and a digest only; what the check looked at stays in the evidence store. */
export const constraintRecord = record({
  id: text,
  result,
  severity,
  blocking: flag,
  check_type: optional(anyText),
  method: optional(anyText),
  evidence_digest: optional(digest),
})

export const effect = record({
  type: text,
  status: oneOf('planned', 'dispatched', 'confirmed', 'failed', 'reverted'),
  irreversibility_class: irreversibility,
  effect_attestation: optional(oneOf(...EFFECT_ATTESTATIONS)),
  request_digest: optional(digest),
  response_digest: optional(digest),
  external_ref: optional(anyText),
  'dev.capsulegate.request_octets': optional(octets),
  'dev.capsulegate.response_octets': optional(octets),
  'dev.capsulegate.response_binding': optional(oneOf('json', 'octets', 'octets-salted')),
})

export const expiryPolicy = record({ ttl_seconds: count, on_expiry: oneOf('expired', 'escalated') })

/** Our namespaced top-level members, exactly these (DESIGN §5). */
export const EXTENSIONS = {
  'dev.capsulegate.manifest_digest': optional(digest),
  'dev.capsulegate.policy_digest': optional(digest),
  'dev.capsulegate.mode': optional(mode),
  'dev.capsulegate.decision_id': optional(anyText),
  'dev.capsulegate.intent_ref': optional(text),
  'dev.capsulegate.deadline': optional(record({ ttl_seconds: count, on_expiry: onExpiry })),
  'dev.capsulegate.outcome_of': optional(digest),
  /** Found after a crash; `missing`: no evidence of the dispatch is left, so nothing is claimed of its judgement. */
  'dev.capsulegate.recovered': optional(
    either(() => true, record({ evidence: only('missing') }), only(true)),
  ),
}

/** A capsule of this gate; the draft's own checks are the verifier's (core/verify/class1.ts). */
export const capsule = record({
  spec_version: only(SPEC_VERSION),
  format_version: only(FORMAT_VERSION),
  capsule_id: digest,
  action_id: text,
  action_type: oneOf('fyi', 'decide'),
  operator: text,
  developer: text,
  timestamp: time,
  effect: optional(effect),
  assurance: record({
    attestation_mode: oneOf('self_attested', 'anchored'),
    effect_mode: oneOf('not_applicable', 'dispatched_unconfirmed', 'confirmed'),
    ledger_mode: oneOf('standalone', 'chained', 'anchored'),
  }),
  disposition: record({
    decision: oneOf(...DECISIONS),
    approver: oneOf('human', 'policy'),
    human_disposed: flag,
    verdict_class: verdictClass,
    authority: optional(text),
    reason_digest: optional(digest),
    expiry_policy: optional(expiryPolicy),
  }),
  constraints: optional(list(constraintRecord)),
  chain: optional(record({ parent_capsule_id: digest, relation: oneOf(...CHAIN_RELATIONS) })),
  ...EXTENSIONS,
})
