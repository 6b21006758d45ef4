import type { Hashing } from '../../crypto/crypto.js'
import { jsonDigest } from '../../json/build.js'
import { plainText } from '../../json/plain-text.js'
import type { Plain } from '../../json/value.js'
import { manifestDigest } from '../expand/expand.js'
import type { Manifest } from '../model.js'
import type { Inputs } from './inputs.js'
import { givenOf, type Judgement, judge, type Result } from './predicates.js'

/** Private (DESIGN §5): kept in the evidence store, bound by digest in the Constraint Record. */
export type ConstraintEvidence = {
  readonly constraint: string
  readonly manifest_digest: string
  /** What the call gave, and nothing else: the manifest's `evidence_schema` is about these. */
  readonly inputs: Inputs
  /** The capsule's timestamp, where the predicate reads the clock. */
  readonly now?: Plain
  /** What the claim read of its window. */
  readonly window?: Plain
  readonly thresholds: { readonly [name: string]: Plain }
  readonly outcome: Result
  /** Random, so that a low-entropy input cannot be guessed from the digest. */
  readonly salt: string
}

export const evidenceOf = (
  constraint: string,
  manifest: string,
  { inputs, thresholds, result }: Judgement,
  salt: string,
): ConstraintEvidence => ({
  constraint,
  inputs: givenOf(inputs),
  manifest_digest: manifest,
  ...(inputs.$now === undefined ? {} : { now: inputs.$now }),
  outcome: result,
  salt,
  thresholds,
  ...(inputs.$window === undefined ? {} : { window: inputs.$window }),
})

export const evidenceDigest = (evidence: ConstraintEvidence, crypto: Hashing): string =>
  jsonDigest(evidence, crypto)

export type Rederived =
  | { readonly ok: true; readonly result: Result }
  | {
      readonly ok: false
      readonly code:
        | 'evidence_malformed'
        | 'manifest_mismatch'
        | 'constraint_unknown'
        | 'threshold_mismatch'
        | 'outcome_mismatch'
      readonly detail: string
    }

const MEMBERS = [
  'constraint',
  'inputs',
  'manifest_digest',
  'now',
  'outcome',
  'salt',
  'thresholds',
  'window',
]

/**
 * Class 2 (seed §8.2): the manifest and the evidence alone give the recorded outcome again, or it was
 * not the outcome. Never throws; evidence may have lost its empty members to normalization.
 */
export function rederive(manifest: Manifest, evidence: Plain, crypto: Hashing): Rederived {
  if (!isRecord(evidence)) return refuse('evidence_malformed', 'evidence is an object')
  const unknown = Object.keys(evidence).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) return refuse('evidence_malformed', `unknown member ${unknown}`)
  const { constraint: id, manifest_digest, outcome, salt, thresholds = {} } = evidence
  const inputs = judgedInputs(evidence)
  if (typeof id !== 'string' || typeof salt !== 'string' || inputs === null) {
    return refuse('evidence_malformed', 'constraint, salt or inputs missing')
  }
  if (manifest_digest !== manifestDigest(manifest, crypto)) {
    return refuse('manifest_mismatch', 'the evidence names another manifest')
  }
  const constraint = Object.hasOwn(manifest.constraints, id) ? manifest.constraints[id] : undefined
  if (constraint === undefined) return refuse('constraint_unknown', `the manifest has no ${id}`)
  const judged = judge(id, constraint, inputs, crypto)
  if (!same(judged.thresholds, thresholds)) {
    return refuse('threshold_mismatch', 'the thresholds are not the ones of the manifest')
  }
  if (judged.result !== outcome) {
    return refuse('outcome_mismatch', `recorded ${String(outcome)}, derived ${judged.result}`)
  }
  return { ok: true, result: judged.result }
}

const refuse = (code: Extract<Rederived, { ok: false }>['code'], detail: string): Rederived => ({
  ok: false,
  code,
  detail,
})

/** As the predicate saw them; 0.1 kept what the clock and the window said among the inputs. */
function judgedInputs(evidence: { readonly [name: string]: Plain }): Inputs | null {
  const { inputs = {}, now, window } = evidence
  if (!isRecord(inputs)) return null
  const twice =
    (now !== undefined && inputs.$now !== undefined) ||
    (window !== undefined && inputs.$window !== undefined)
  if (twice) return null
  return {
    ...inputs,
    ...(now === undefined ? {} : { $now: now }),
    ...(window === undefined ? {} : { $window: window }),
  }
}

const isRecord = (value: Plain | undefined): value is { readonly [name: string]: Plain } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** Equal as digests see it; what has no digest equals nothing. */
function same(a: Plain, b: Plain): boolean {
  try {
    return plainText(a, 'normalized') === plainText(b, 'normalized')
  } catch {
    return false
  }
}
