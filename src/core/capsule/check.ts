import { isHex64 } from '../hex.js'
import { attestationRule, isNeverDispatch } from './derive.js'
import type { CapsuleInput } from './input.js'
import type { Capsule, ConstraintRecord, Extensions, Octets } from './model.js'
import { IRREVERSIBILITY_CLASSES } from './registries.js'
import { isUtcTimestamp } from './timestamp.js'

/** The builder's refusals for callers without types. A refusal is the caller's bug, so it throws. */

const EXTENSIONS: Readonly<Record<keyof Extensions, true>> = {
  'dev.capsulegate.manifest_digest': true,
  'dev.capsulegate.policy_digest': true,
  'dev.capsulegate.mode': true,
  'dev.capsulegate.decision_id': true,
  'dev.capsulegate.intent_ref': true,
  'dev.capsulegate.deadline': true,
  'dev.capsulegate.outcome_of': true,
  'dev.capsulegate.recovered': true,
}
const RECORD: Readonly<Record<keyof ConstraintRecord, true>> = {
  id: true,
  result: true,
  severity: true,
  blocking: true,
  check_type: true,
  method: true,
  evidence_digest: true,
}
const OCTETS: Readonly<Record<keyof Octets, true>> = {
  alg: true,
  digest: true,
  length: true,
  content_type: true,
  content_encoding: true,
  status: true,
  complete: true,
}
/** Seed §9.2: never generated without the companion profile. */
const RESERVED = ['_sd', '_sd_alg', '...']

const refuse = (why: string): never => {
  throw new TypeError(why)
}
const known = (value: object, names: object, where: string): void => {
  for (const name of Object.keys(value))
    if (!Object.hasOwn(names, name)) refuse(`${where}: unknown member ${name}`)
}
const digest = (value: string | undefined, where: string): void => {
  if (value !== undefined && !isHex64(value)) refuse(`${where}: not 64 lowercase hex digits`)
}
const text = (value: unknown, where: string): void => {
  if (typeof value !== 'string' || value === '') refuse(`${where}: a non-empty string is required`)
}

/** Closed (DESIGN §5): a member smuggled in beside ours could pass for one of the profile's own. */
export const checkExtensions = (extensions: Extensions): void =>
  known(extensions, EXTENSIONS, 'extensions')

export function checkInput({ verdict, constraints, extensions, chain }: CapsuleInput): void {
  for (const name of ['dev.capsulegate.recovered', 'dev.capsulegate.outcome_of'])
    if (Object.hasOwn(extensions, name)) refuse(`${name} is not the caller's to set`)
  const gated = constraints.some((record) => record.blocking)
  if ((verdict.kind === 'ran' || verdict.kind === 'recovered') && gated)
    refuse('a constraint that gated the call contradicts a call that ran (seed §8.1)')
  if (verdict.kind === 'refused' && verdict.verdict_class === 'blocked' && !gated)
    refuse('blocked names the constraint that gated the call (seed §5.4.1)')
  const closes =
    verdict.kind === 'disposed' ||
    (verdict.kind === 'refused' &&
      (verdict.verdict_class === 'expired' || verdict.verdict_class === 'resolved'))
  if (closes && chain === undefined) refuse('a closure supersedes the item it closes (seed §5.4.4)')
}

export function checkBuilt(capsule: Capsule): void {
  const { effect, disposition, assurance, chain } = capsule
  for (const name of ['action_id', 'operator', 'developer'] as const) text(capsule[name], name)
  if (capsule.action_type !== 'fyi' && capsule.action_type !== 'decide')
    refuse('action_type: fyi or decide')
  if (!isUtcTimestamp(capsule.timestamp)) refuse('timestamp: RFC 3339 UTC with Z')
  for (const record of capsule.constraints ?? []) checkRecord(record)
  digest(disposition.reason_digest, 'disposition.reason_digest')
  if (disposition.expiry_policy !== undefined) checkExpiry(disposition.expiry_policy)
  if (effect !== undefined) checkEffect(effect)
  if (chain !== undefined) {
    digest(chain.parent_capsule_id, 'chain.supersedes')
    if (chain.parent_capsule_id === capsule.capsule_id) refuse('a capsule cannot supersede itself')
  }
  if ((attestationRule(assurance.effect_mode) === 'required') !== (effect !== undefined))
    refuse('effect and effect_mode disagree')
  if (isNeverDispatch(disposition.verdict_class) && effect !== undefined)
    refuse(`${disposition.verdict_class} never dispatches (seed §5.4.2)`)
  refuseReserved(capsule)
}

function checkRecord(record: ConstraintRecord): void {
  const where = `constraint ${record.id}`
  known(record, RECORD, where)
  text(record.id, 'constraint id')
  if (!['pass', 'fail', 'n/a'].includes(record.result)) refuse(`${where}: result`)
  if (!['low', 'medium', 'high', 'critical'].includes(record.severity)) refuse(`${where}: severity`)
  if (typeof record.blocking !== 'boolean') refuse(`${where}: blocking`)
  if (record.blocking && record.result !== 'fail') refuse(`${where}: only a fail gates`)
  digest(record.evidence_digest, `${where}: evidence_digest`)
}

function checkExpiry(policy: { ttl_seconds: number; on_expiry: string }): void {
  known(policy, { ttl_seconds: true, on_expiry: true }, 'expiry_policy')
  if (!Number.isSafeInteger(policy.ttl_seconds) || policy.ttl_seconds < 0)
    refuse('expiry_policy.ttl_seconds: whole seconds')
  if (policy.on_expiry !== 'expired' && policy.on_expiry !== 'escalated')
    refuse('expiry_policy.on_expiry: expired or escalated')
}

function checkEffect(effect: NonNullable<Capsule['effect']>): void {
  text(effect.type, 'effect.type')
  if (!IRREVERSIBILITY_CLASSES.includes(effect.irreversibility_class))
    refuse('effect.irreversibility_class')
  digest(effect.request_digest, 'effect.request_digest')
  digest(effect.response_digest, 'effect.response_digest')
  for (const name of ['request_octets', 'response_octets'] as const) {
    const octets = effect[`dev.capsulegate.${name}`]
    if (octets === undefined) continue
    known(octets, OCTETS, name)
    digest(octets.digest, `${name}.digest`)
    if (octets.alg !== 'sha-256' || !Number.isSafeInteger(octets.length) || octets.length < 0)
      refuse(`${name}: alg or length`)
  }
}

function refuseReserved(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value) && RESERVED.includes(name)) refuse(`${name} is reserved (seed §9.2)`)
    refuseReserved(member)
  }
}
