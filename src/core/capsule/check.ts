import { isHex64 } from '../bytes/hex.js'
import { attestationRule, isNeverDispatch } from './derive.js'
import type { CapsuleInput } from './input.js'
import type { Capsule, ConstraintRecord, ExpiryPolicy, Extensions, Octets } from './model.js'
import { IRREVERSIBILITY_CLASSES } from './registries.js'
import { isUtcTimestamp } from './timestamp.js'

/** The builder's refusals for callers without types. A refusal is the caller's bug, so it throws. */

/** All the names of a type: the compiler misses none. */
function namesOf<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names))
}
const EXTENSIONS = namesOf<Extensions>({
  'dev.capsulegate.manifest_digest': true,
  'dev.capsulegate.policy_digest': true,
  'dev.capsulegate.mode': true,
  'dev.capsulegate.decision_id': true,
  'dev.capsulegate.intent_ref': true,
  'dev.capsulegate.deadline': true,
  'dev.capsulegate.outcome_of': true,
  'dev.capsulegate.recovered': true,
})
const RECORD = namesOf<ConstraintRecord>({
  id: true,
  result: true,
  severity: true,
  blocking: true,
  check_type: true,
  method: true,
  evidence_digest: true,
})
const OCTETS = namesOf<Octets>({
  alg: true,
  digest: true,
  length: true,
  content_type: true,
  content_encoding: true,
  status: true,
  complete: true,
})
const EXPIRY = namesOf<ExpiryPolicy>({ ttl_seconds: true, on_expiry: true })
const RESULTS = new Set<string>(['pass', 'fail', 'n/a'])
const SEVERITIES = new Set<string>(['low', 'medium', 'high', 'critical'])
/** Seed §9.2: never generated without the companion profile. */
const RESERVED = ['_sd', '_sd_alg', '...']

const refuse = (why: string): never => {
  throw new TypeError(why)
}
/** Own members only, as a writer sees them; `for in` over a literal of ours allocates nothing. */
const strangerIn = (value: object, names: ReadonlySet<string>): string | null => {
  for (const name in value) if (!names.has(name) && Object.hasOwn(value, name)) return name
  return null
}
const known = (value: object, names: ReadonlySet<string>, where: string): void => {
  const stranger = strangerIn(value, names)
  if (stranger !== null) refuse(`${where}: unknown member ${stranger}`)
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

const NOT_THE_CALLERS = ['dev.capsulegate.recovered', 'dev.capsulegate.outcome_of']
/** Stopped by a check of its own: what blocked it, or what asks for a human. */
const GATED = new Set<string>(['blocked', 'hitl_dispatched', 'needs_decision'])
const isGating = ({ blocking }: ConstraintRecord): boolean => blocking

export function checkInput({ verdict, constraints, extensions, chain }: CapsuleInput): void {
  for (const name of NOT_THE_CALLERS)
    if (Object.hasOwn(extensions, name)) refuse(`${name} is not the caller's to set`)
  const gated = constraints.some(isGating)
  if ((verdict.kind === 'ran' || verdict.kind === 'recovered') && gated)
    refuse('a constraint that gated the call contradicts a call that ran (seed §8.1)')
  if (verdict.kind === 'recovered' && verdict.evidence !== 'present')
    checkUnshown(constraints, extensions)
  if (verdict.kind === 'refused' && GATED.has(verdict.verdict_class) && !gated)
    refuse(`${verdict.verdict_class} names the check that gated the call (seed §8.1)`)
  const closes =
    verdict.kind === 'disposed' ||
    (verdict.kind === 'refused' &&
      (verdict.verdict_class === 'expired' || verdict.verdict_class === 'resolved'))
  if (closes && chain === undefined) refuse('a closure supersedes the item it closes (seed §5.4.4)')
}

const JUDGED = ['manifest_digest', 'policy_digest', 'mode']

/** Without its evidence nothing is known of how a call was judged. */
function checkUnshown(constraints: readonly ConstraintRecord[], extensions: object): void {
  const claimed = JUDGED.find((name) => Object.hasOwn(extensions, `dev.capsulegate.${name}`))
  if (constraints.length > 0 || claimed !== undefined)
    refuse(`recovered without evidence claims ${claimed ?? 'a constraint'}`)
}

/** `payload` is the capsule as it is written: what no name in it can be is looked for there first. */
export function checkBuilt(capsule: Capsule, payload: string): void {
  const { effect, disposition, assurance, chain, constraints } = capsule
  text(capsule.action_id, 'action_id')
  text(capsule.operator, 'operator')
  text(capsule.developer, 'developer')
  if (capsule.action_type !== 'fyi' && capsule.action_type !== 'decide')
    refuse('action_type: fyi or decide')
  if (!isUtcTimestamp(capsule.timestamp)) refuse('timestamp: RFC 3339 UTC with Z')
  if (constraints !== undefined) for (const record of constraints) checkRecord(record)
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
  if (payload.includes('_sd') || payload.includes('...')) refuseReserved(capsule)
}

function checkRecord(record: ConstraintRecord): void {
  const fault = recordFault(record)
  if (fault !== null) refuse(`constraint ${record.id}: ${fault}`)
}

function recordFault(record: ConstraintRecord): string | null {
  const stranger = strangerIn(record, RECORD)
  if (stranger !== null) return `unknown member ${stranger}`
  text(record.id, 'constraint id')
  const { result, severity, blocking, evidence_digest } = record
  if (!RESULTS.has(result)) return 'result'
  if (!SEVERITIES.has(severity)) return 'severity'
  if (typeof blocking !== 'boolean') return 'blocking'
  if (blocking && result !== 'fail') return 'only a fail gates'
  const unbound = evidence_digest !== undefined && !isHex64(evidence_digest)
  return unbound ? 'evidence_digest: not 64 lowercase hex digits' : null
}

function checkExpiry(policy: { ttl_seconds: number; on_expiry: string }): void {
  known(policy, EXPIRY, 'expiry_policy')
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
  checkOctets(effect['dev.capsulegate.request_octets'], 'request_octets')
  checkOctets(effect['dev.capsulegate.response_octets'], 'response_octets')
}

const ALGS: readonly string[] = ['sha-256', 'hmac-sha-256'] satisfies Octets['alg'][]

function checkOctets(octets: Octets | undefined, name: string): void {
  if (octets === undefined) return
  known(octets, OCTETS, name)
  digest(octets.digest, name)
  if (!ALGS.includes(octets.alg) || !Number.isSafeInteger(octets.length) || octets.length < 0)
    refuse(`${name}: alg or length`)
}

function refuseReserved(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value) && RESERVED.includes(name)) refuse(`${name} is reserved (seed §9.2)`)
    refuseReserved(member)
  }
}
