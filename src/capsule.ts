/** Entry `capsule-gate/capsule`: the record's types, its builder and the digests it is made of. */

export { buildCapsule, payloadOf } from './core/capsule/build.js'
export type { HumanDecision } from './core/capsule/human.js'
export type {
  By,
  CapsuleInput,
  EffectMeta,
  Identity,
  Verdict,
} from './core/capsule/input.js'
export type * from './core/capsule/model.js'
export { FORMAT_VERSION, SPEC_VERSION } from './core/capsule/model.js'
export type { Observation, ObservedResponse, Witnessed } from './core/capsule/observation.js'
export { buildOutcome, type Outcome, type OutcomeInput } from './core/capsule/outcome.js'
export * from './core/capsule/registries.js'
export type { Crypto } from './core/crypto/crypto.js'
export { canonicalOf, jsonDigest, jsonDigestOf, normalize } from './core/json/build.js'
export { type Parsed, type ParseLimits, parse } from './core/json/parse.js'
export type { JsonValue, Plain } from './core/json/value.js'
