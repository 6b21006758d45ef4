import type { Hashing } from '../crypto/crypto.js'
import { canonicalOf, jsonDigest, textDigest } from '../json/build.js'
import { isNormalText, plainText } from '../json/plain-text.js'
import type { Plain } from '../json/value.js'
import { checkBuilt, checkExtensions, checkInput } from './check.js'
import { effectMode, ledgerMode } from './derive.js'
import { assentBehind, dispositionOf } from './disposition.js'
import { effectOf } from './effect.js'
import type { CapsuleInput, Identity } from './input.js'
import {
  type Capsule,
  type Chain,
  type ConstraintRecord,
  type Disposition,
  type Effect,
  type Extensions,
  FORMAT_VERSION,
  SPEC_VERSION,
} from './model.js'
import { EXTENSIONS } from './shapes.js'

/**
 * One capsule from one verdict. Types refuse what is dishonest; for callers without types the same
 * refusals throw here. Whatever comes out passes Class 1 in the strict profile.
 */
export function buildCapsule(input: CapsuleInput, crypto: Hashing): Capsule {
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
      extensions: extensionsOf(input, human?.decisionId),
      supersedes: input.chain?.supersedes,
    },
    crypto,
  )
}

function extensionsOf({ extensions, verdict }: CapsuleInput, decision?: string): Extensions {
  const decided =
    decision === undefined ? extensions : { ...extensions, 'dev.capsulegate.decision_id': decision }
  if (verdict.kind !== 'recovered') return decided
  const recovered = verdict.evidence === 'present' ? true : ({ evidence: 'missing' } as const)
  return { ...decided, 'dev.capsulegate.recovered': recovered }
}

export type Parts = {
  readonly identity: Identity
  readonly effect: Effect | undefined
  readonly disposition: Disposition
  readonly constraints: readonly ConstraintRecord[]
  readonly extensions: Extensions
  readonly supersedes: string | undefined
}

/** Shared by `buildCapsule` and `buildOutcome`; the modes are derived here and never given. */
export function assemble(parts: Parts, crypto: Hashing): Capsule {
  const { identity, extensions, effect, constraints, supersedes } = parts
  checkExtensions(extensions)
  const head: Head = {
    action_id: identity.action_id,
    action_type: identity.action_type,
    assurance: {
      attestation_mode: 'self_attested',
      effect_mode: effectMode(effect ?? null),
      ledger_mode: ledgerMode(supersedes !== undefined),
    },
  }
  const tail: Tail = {
    // An empty array normalizes away; leaving it out keeps payload and content address alike.
    constraints: constraints.length === 0 ? undefined : constraints,
    'dev.capsulegate.deadline': extensions['dev.capsulegate.deadline'],
    'dev.capsulegate.decision_id': extensions['dev.capsulegate.decision_id'],
    'dev.capsulegate.intent_ref': extensions['dev.capsulegate.intent_ref'],
    'dev.capsulegate.manifest_digest': extensions['dev.capsulegate.manifest_digest'],
    'dev.capsulegate.mode': extensions['dev.capsulegate.mode'],
    'dev.capsulegate.outcome_of': extensions['dev.capsulegate.outcome_of'],
    'dev.capsulegate.policy_digest': extensions['dev.capsulegate.policy_digest'],
    'dev.capsulegate.recovered': extensions['dev.capsulegate.recovered'],
    developer: identity.developer,
    disposition: parts.disposition,
    effect,
    format_version: FORMAT_VERSION,
    operator: identity.operator,
    spec_version: SPEC_VERSION,
    timestamp: identity.timestamp,
  }
  const chain: Chain | undefined =
    supersedes === undefined ? undefined : { parent_capsule_id: supersedes, relation: 'supersedes' }
  const { capsule_id, payload } = written(head, tail, chain, crypto)
  const capsule = capsuleOf(head, tail, capsule_id, chain)
  checkBuilt(capsule, payload)
  payloads.set(capsule, payload)
  return capsule
}

/** What sorts before `capsule_id` and `chain`, and what sorts after them; each in order already. */
type Head = Pick<Capsule, 'action_id' | 'action_type' | 'assurance'>
type Rest = Omit<Capsule, keyof Head | 'capsule_id' | 'chain'>
type Tail = { readonly [Name in keyof Rest]-?: Rest[Name] | Missing<Name> }
type Missing<Name extends keyof Rest> = undefined extends Rest[Name] ? undefined : never

/**
 * Content address and payload differ by `capsule_id` and `chain` alone (seed §5.1), which stand beside
 * each other in order: the rest is written once for both.
 */
function written(
  head: Head,
  tail: Tail,
  chain: Chain | undefined,
  crypto: Hashing,
): { readonly capsule_id: string; readonly payload: string } {
  const before = plainText(head, 'as_is').slice(0, -1)
  const after = plainText(tail as Plain, 'as_is').slice(1)
  const addressed = `${before},${after}`
  const capsule_id = isNormalText(addressed)
    ? textDigest(addressed, crypto)
    : jsonDigest({ ...head, ...tail } as Plain, crypto)
  const linked = chain === undefined ? '' : `"chain":${plainText(chain, 'as_is')},`
  return { capsule_id, payload: `${before},"capsule_id":"${capsule_id}",${linked}${after}` }
}

/** The same as an object; a member that is not there is absent, not undefined. */
function capsuleOf(head: Head, tail: Tail, capsule_id: string, chain: Chain | undefined): Capsule {
  const capsule: Writable = {
    spec_version: tail.spec_version,
    format_version: tail.format_version,
    capsule_id,
    action_id: head.action_id,
    action_type: head.action_type,
    operator: tail.operator,
    developer: tail.developer,
    timestamp: tail.timestamp,
    assurance: head.assurance,
    disposition: tail.disposition,
  }
  const { effect, constraints } = tail
  for (const name of EXTENSION_NAMES) if (tail[name] !== undefined) set(capsule, name, tail[name])
  if (effect !== undefined) capsule.effect = effect
  if (constraints !== undefined) capsule.constraints = constraints
  if (chain !== undefined) capsule.chain = chain
  return capsule
}

const EXTENSION_NAMES = Object.keys(EXTENSIONS) as (keyof Extensions)[]
function set<N extends keyof Extensions>(to: Writable, name: N, value: Writable[N]): void {
  to[name] = value
}
type Writable = { -readonly [Name in keyof Capsule]: Capsule[Name] }

/** What was written when the capsule was built, so that signing or showing it does not write it again. */
const payloads = new WeakMap<Capsule, string>()

/** The statement's payload: JCS of the whole capsule, chain included (DESIGN §5). */
export const payloadOf = (capsule: Capsule): string =>
  payloads.get(capsule) ?? canonicalOf(capsule as Plain)
