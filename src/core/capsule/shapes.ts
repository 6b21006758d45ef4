import * as s from '../json/shape.js'
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

export const mode = s.oneOf('enforce', 'observe')
export const irreversibility = s.oneOf(...IRREVERSIBILITY_CLASSES)
export const verdictClass = s.oneOf(...VERDICT_CLASSES)
export const onExpiry = s.oneOf('timeout', 'expired', 'escalated')

/** Exact octets of a message body: after chunking is removed, before any content coding is. */
export const octets = s.record({
  /** `hmac-sha-256`: under a key of the tenant's, for tools with `digest_salt: tenant` (seed §13). */
  alg: s.oneOf('sha-256', 'hmac-sha-256'),
  digest: s.digest,
  length: s.count,
  content_type: s.optional(s.anyText),
  content_encoding: s.optional(s.anyText),
  status: s.optional(s.count),
  complete: s.optional(s.only(true)),
})

export const result = s.oneOf('pass', 'fail', 'n/a')
export const severity = s.oneOf('low', 'medium', 'high', 'critical')

/** Seed §8.1: categories and a digest only; what the check looked at stays in the evidence store. */
export const constraintRecord = s.record({
  id: s.text,
  result,
  severity,
  blocking: s.flag,
  check_type: s.optional(s.anyText),
  method: s.optional(s.anyText),
  evidence_digest: s.optional(s.digest),
})

export const EFFECT_STATUSES = ['planned', 'dispatched', 'confirmed', 'failed', 'reverted'] as const
export const effect = s.record({
  type: s.text,
  status: s.oneOf(...EFFECT_STATUSES),
  irreversibility_class: irreversibility,
  effect_attestation: s.optional(s.oneOf(...EFFECT_ATTESTATIONS)),
  request_digest: s.optional(s.digest),
  response_digest: s.optional(s.digest),
  external_ref: s.optional(s.anyText),
  'dev.capsulegate.request_octets': s.optional(octets),
  'dev.capsulegate.response_octets': s.optional(octets),
  'dev.capsulegate.response_binding': s.optional(s.oneOf('json', 'octets', 'octets-salted')),
})

export const expiryPolicy = s.record({
  ttl_seconds: s.count,
  on_expiry: s.oneOf('expired', 'escalated'),
})

/** Our namespaced top-level members, exactly these (DESIGN §5). */
export const EXTENSIONS = {
  'dev.capsulegate.manifest_digest': s.optional(s.digest),
  'dev.capsulegate.policy_digest': s.optional(s.digest),
  'dev.capsulegate.mode': s.optional(mode),
  'dev.capsulegate.decision_id': s.optional(s.anyText),
  'dev.capsulegate.intent_ref': s.optional(s.text),
  'dev.capsulegate.deadline': s.optional(s.record({ ttl_seconds: s.count, on_expiry: onExpiry })),
  'dev.capsulegate.outcome_of': s.optional(s.digest),
  /** Found after a crash; `missing`: no evidence of the dispatch is left, so nothing is claimed of its judgement. */
  'dev.capsulegate.recovered': s.optional(
    s.either(() => true, s.record({ evidence: s.only('missing') }), s.only(true)),
  ),
}

/** A capsule of this gate; the draft's own checks are the verifier's (core/verify/class1.ts). */
export const capsule = s.record({
  spec_version: s.only(SPEC_VERSION),
  format_version: s.only(FORMAT_VERSION),
  capsule_id: s.digest,
  action_id: s.text,
  action_type: s.oneOf('fyi', 'decide'),
  operator: s.text,
  developer: s.text,
  timestamp: s.time,
  effect: s.optional(effect),
  assurance: s.record({
    attestation_mode: s.oneOf('self_attested', 'anchored'),
    effect_mode: s.oneOf('not_applicable', 'dispatched_unconfirmed', 'confirmed'),
    ledger_mode: s.oneOf('standalone', 'chained', 'anchored'),
  }),
  disposition: s.record({
    decision: s.oneOf(...DECISIONS),
    approver: s.oneOf('human', 'policy'),
    human_disposed: s.flag,
    verdict_class: verdictClass,
    authority: s.optional(s.text),
    reason_digest: s.optional(s.digest),
    expiry_policy: s.optional(expiryPolicy),
  }),
  constraints: s.optional(s.list(constraintRecord)),
  chain: s.optional(
    s.record({ parent_capsule_id: s.digest, relation: s.oneOf(...CHAIN_RELATIONS) }),
  ),
  ...EXTENSIONS,
})
