import { isHex64 } from '../bytes/hex.js'
import { attestationRule, effectMode, isNeverDispatch, ledgerMode } from '../capsule/derive.js'
import {
  CHAIN_RELATIONS,
  DECISIONS,
  EFFECT_ATTESTATIONS,
  EFFECT_TYPES,
  IRREVERSIBILITY_CLASSES,
  VERDICT_CLASSES,
} from '../capsule/registries.js'
import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'
import { canonicalNormalized, canonicalOfSource, numberFaults } from '../json/canonical.js'
import type { CanonicalText } from '../json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { type ChainView, checkChain } from './chain.js'
import {
  type Class1Result,
  type Derived,
  Findings,
  type Profile,
  refused,
  show,
} from './finding.js'
import { checkStrictBinding, checkStrictStructure } from './strict.js'
import { absent, block, checkStructure } from './structure.js'
import { unchecked } from './unchecked.js'

export type Class1Options = {
  readonly profile: Profile
  readonly crypto: Hashing
  /** Null: no store was given, so the chain checks are left open (seed §6, check 6). */
  readonly chain: ChainView | null
  /** The capsule came out of a payload whose signature holds, so every byte of it is bound. */
  readonly signed: boolean
}
export type Addressed = { readonly id: string | null; readonly faulty: boolean }

/** Outside the content address: only a signature protects them (seed §5.1). */
const OUTSIDE = ['capsule_id', 'chain'] as const

/** The content address, recomputed from the bytes received and never from a normalized copy. */
export function address(
  capsule: JsonValue,
  crypto: Hashing,
  source: CanonicalText | null = null,
): Addressed {
  if (!isObject(capsule)) return { id: null, faulty: false }
  const form =
    source === null
      ? canonicalNormalized(capsule, OUTSIDE)
      : canonicalOfSource(source, capsule, OUTSIDE)
  const faulty =
    form === null ||
    // A text that is canonical holds no such number anywhere.
    (source === null && OUTSIDE.some((name) => numberFaults(capsule.get(name) ?? null).length > 0))
  return { id: form === null ? null : textDigest(form, crypto), faulty }
}

/** The eight checks of seed §6 in their order. A value for every input; throws for none. */
export function class1(
  capsule: JsonValue,
  options: Class1Options,
  addressed: Addressed = address(capsule, options.crypto),
): Class1Result {
  if (!isObject(capsule)) return refused(1, 'not_an_object', `the capsule is ${show(capsule)}`)
  const strict = options.profile === 'strict'
  const findings = new Findings()
  const effect = block(capsule, 'effect')
  const derived = derive(capsule, effect)

  checkStructure(capsule, addressed.faulty ? numberFaults(capsule) : [], findings, options.profile)
  if (strict) checkStrictStructure(capsule, findings)
  checkIdentity(capsule, addressed.id, findings)
  if (effect?.get('status') === 'confirmed' && !isHex64(effect.get('response_digest')))
    findings.error(3, 'confirmed_without_response', 'confirmed needs a response_digest (seed §5.2)')
  if (strict && effect !== null) checkStrictBinding(effect, findings)
  checkOrthogonality(capsule, derived, findings, strict)
  checkAttestation(effect, derived, findings)
  checkChain(capsule, addressed.id, options.chain, findings, options.profile)
  checkAssurance(capsule, derived, findings, strict)
  checkRegistries(capsule, findings)
  reportReserved(capsule, findings)
  return {
    ok: !findings.failed,
    findings: findings.list,
    derived,
    capsule_id_recomputed: addressed.id,
    not_checked: unchecked(capsule, options),
  }
}

function derive(capsule: JsonObject, effect: JsonObject | null): Derived {
  return {
    effect_mode: effectMode(
      effect === null
        ? null
        : { status: effect.get('status'), response_digest: effect.get('response_digest') },
    ),
    // A receipt is what would lift it, and this layer is given none (seed §3.2).
    attestation_mode: 'self_attested',
    ledger_mode: ledgerMode(isHex64(block(capsule, 'chain')?.get('parent_capsule_id'))),
  }
}

function checkIdentity(capsule: JsonObject, id: string | null, findings: Findings): void {
  const claimed = capsule.get('capsule_id')
  // Without a recomputed id a number error stands under check 1 already.
  if (id !== null && typeof claimed === 'string' && claimed !== id)
    findings.error(2, 'capsule_id_mismatch', `recomputed ${id}`)
}

function checkOrthogonality(
  capsule: JsonObject,
  derived: Derived,
  findings: Findings,
  strict: boolean,
): void {
  const verdict = block(capsule, 'disposition')?.get('verdict_class')
  const mode = derived.effect_mode
  if (isNeverDispatch(verdict) && mode !== 'not_applicable')
    findings.error(4, 'verdict_effect_conflict', `${verdict} never dispatches, effect is ${mode}`)
  // Seed §5.4.2: it would assert that nothing happened. Not in check 4's words, so strict only.
  if (strict && verdict === 'errored' && mode === 'not_applicable')
    findings.error(4, 'errored_without_dispatch', 'errored means that the action ran (seed §5.4.2)')
}

function checkAttestation(effect: JsonObject | null, derived: Derived, findings: Findings): void {
  const given = !absent(effect?.get('effect_attestation'))
  const rule = attestationRule(derived.effect_mode)
  if (rule === 'required' && !given)
    findings.error(5, 'effect_attestation_missing', `required with ${derived.effect_mode}`)
  if (rule === 'absent' && given)
    findings.error(5, 'effect_attestation_present', `must be absent with ${derived.effect_mode}`)
}

const LEDGER_RANK = { standalone: 0, chained: 1, anchored: 2 } as const

/** Seed §5.3: a claim beyond what the bytes show. Only the effect's is decided by the bytes alone. */
function checkAssurance(
  capsule: JsonObject,
  derived: Derived,
  findings: Findings,
  strict: boolean,
): void {
  const assurance = block(capsule, 'assurance')
  if (assurance === null) return
  const overclaim = (name: keyof Derived): string =>
    `${name} claims ${show(assurance.get(name))}, derived ${derived[name]}`
  const effect = assurance.get('effect_mode')
  if (effect === 'confirmed' && derived.effect_mode !== 'confirmed')
    findings.error(7, 'assurance_overclaim', overclaim('effect_mode'))
  else if (strict && effect === 'not_applicable' && derived.effect_mode !== 'not_applicable')
    findings.error(7, 'assurance_misstated', overclaim('effect_mode'))
  if (assurance.get('attestation_mode') === 'anchored')
    findings.info(7, 'assurance_overclaim', overclaim('attestation_mode'))
  const ledger = assurance.get('ledger_mode')
  if (
    (ledger === 'chained' || ledger === 'anchored') &&
    LEDGER_RANK[ledger] > LEDGER_RANK[derived.ledger_mode]
  )
    findings.info(7, 'assurance_overclaim', overclaim('ledger_mode'))
}

const REGISTRIES: readonly (readonly [block: string, member: string, known: readonly string[]])[] =
  [
    ['disposition', 'verdict_class', VERDICT_CLASSES],
    ['disposition', 'decision', DECISIONS],
    ['effect', 'type', EFFECT_TYPES],
    ['effect', 'irreversibility_class', IRREVERSIBILITY_CLASSES],
    ['effect', 'effect_attestation', EFFECT_ATTESTATIONS],
    ['chain', 'relation', CHAIN_RELATIONS],
  ]

/** Seed §12: unknown informs, never rejects, and never grades up. */
function checkRegistries(capsule: JsonObject, findings: Findings): void {
  for (const [name, member, known] of REGISTRIES) {
    const value = block(capsule, name)?.get(member)
    if (absent(value) || isArray(value) || isObject(value)) continue
    if (typeof value === 'string' && known.includes(value)) continue
    findings.info(8, 'unknown_registry_value', `${name}.${member} is ${show(value)}`)
    if (member === 'effect_attestation')
      findings.info(8, 'effect_attestation_graded_floor', 'no stronger than runtime_claimed')
  }
}

const isReserved = (name: string): boolean => name === '_sd' || name === '_sd_alg' || name === '...'

/** Seed §9.2: not interpreted here, so said to be there. */
function reportReserved(value: JsonValue, findings: Findings): void {
  if (isArray(value)) {
    for (const element of value) reportReserved(element, findings)
  } else if (isObject(value)) {
    for (const [name, member] of value) {
      if (isReserved(name))
        findings.info(null, 'selective_disclosure_not_supported', `${name} is not interpreted`)
      if (typeof member === 'object') reportReserved(member, findings)
    }
  }
}
