import type { Crypto } from '../crypto.js'
import { canonicalOf, jsonDigest } from '../json/build.js'
import type { Plain } from '../json/value.js'
import { checkBuilt, checkExtensions, checkInput } from './check.js'
import { effectMode, ledgerMode } from './derive.js'
import { assentBehind, dispositionOf } from './disposition.js'
import { effectOf } from './effect.js'
import type { CapsuleInput, Identity } from './input.js'
import {
  type Capsule,
  type ConstraintRecord,
  type Disposition,
  type Effect,
  type Extensions,
  FORMAT_VERSION,
  SPEC_VERSION,
} from './model.js'

/**
 * One capsule from one verdict. Types refuse what is dishonest; for callers without types the same
 * refusals throw here. Whatever comes out passes Class 1 in the strict profile.
 */
export function buildCapsule(input: CapsuleInput, crypto: Pick<Crypto, 'sha256'>): Capsule {
  checkInput(input)
  const human = assentBehind(input)
  const given = input.extensions['dev.capsulegate.decision_id']
  if (human !== null && given !== undefined && given !== human.decisionId)
    throw new TypeError('the person decided another decision_id')
  return assemble(
    {
      identity: input.identity,
      effect: effectOf(input.verdict),
      disposition: dispositionOf(input.verdict),
      constraints: input.constraints,
      extensions: {
        ...input.extensions,
        ...(human === null ? {} : { 'dev.capsulegate.decision_id': human.decisionId }),
        ...(input.verdict.kind === 'recovered' ? { 'dev.capsulegate.recovered': true } : {}),
      },
      supersedes: input.chain?.supersedes,
    },
    crypto,
  )
}

export type Parts = {
  readonly identity: Identity
  readonly effect: Effect | undefined
  readonly disposition: Disposition
  readonly constraints: readonly ConstraintRecord[]
  readonly extensions: Extensions
  readonly supersedes: string | undefined
}

/** Shared by `buildCapsule` and `buildOutcome`; the modes are derived here and given by nobody. */
export function assemble(parts: Parts, crypto: Pick<Crypto, 'sha256'>): Capsule {
  const { action_id, action_type, operator, developer, timestamp } = parts.identity
  checkExtensions(parts.extensions)
  const addressed = {
    ...parts.extensions,
    spec_version: SPEC_VERSION,
    format_version: FORMAT_VERSION,
    action_id,
    action_type,
    operator,
    developer,
    timestamp,
    ...(parts.effect === undefined ? {} : { effect: parts.effect }),
    assurance: {
      attestation_mode: 'self_attested',
      effect_mode: effectMode(
        parts.effect === undefined
          ? null
          : { status: parts.effect.status, response_digest: parts.effect.response_digest },
      ),
      ledger_mode: ledgerMode(parts.supersedes !== undefined),
    },
    disposition: parts.disposition,
    // An empty array normalizes away; leaving it out keeps payload and content address alike.
    ...(parts.constraints.length === 0 ? {} : { constraints: parts.constraints }),
  } as const
  const capsule: Capsule = {
    ...addressed,
    capsule_id: jsonDigest(addressed as Plain, crypto),
    ...(parts.supersedes === undefined
      ? {}
      : { chain: { parent_capsule_id: parts.supersedes, relation: 'supersedes' } }),
  }
  checkBuilt(capsule)
  return capsule
}

/** The statement's payload: JCS of the whole capsule, chain included (DESIGN §5). */
export const payloadOf = (capsule: Capsule): string => canonicalOf(capsule as Plain)
