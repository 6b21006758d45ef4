import { isHex64 } from '../bytes/hex.js'
import type { Shape } from '../json/shape.js'
import { attestationRule, isNeverDispatch } from './derive.js'
import type { CapsuleInput } from './input.js'
import type { Capsule, ConstraintRecord, ExpiryPolicy, Extensions, Octets } from './model.js'
import { IRREVERSIBILITY_CLASSES } from './registries.js'
import {
  constraintRecord,
  EXTENSIONS,
  expiryPolicy,
  octets as octetsShape,
  result as resultShape,
  severity as severityShape,
} from './shapes.js'
import { isUtcTimestamp } from './timestamp.js'

/** The builder's refusals for callers without types. A refusal is the caller's bug, so it throws. */

const namesOf = ({ members = {} }: Shape<unknown>): ReadonlySet<string> =>
  new Set(Object.keys(members))
const EXTENSION_NAMES = new Set(Object.keys(EXTENSIONS))
const RECORD = namesOf(constraintRecord)
const OCTETS = namesOf(octetsShape)
const EXPIRY = namesOf(expiryPolicy)
/** Seed §9.2: never generated without the companion profile. */
const RESERVED = ['_sd', '_sd_alg', '...']

const refuse = (why: string): never => {
  throw new TypeError(why)
}
/** Own members only, as a writer sees them; `for in` over a literal of ours allocates nothing. */
const unknownIn = (value: object, names: ReadonlySet<string>): string | null => {
  for (const name in value) if (!names.has(name) && Object.hasOwn(value, name)) return name
  return null
}
const known = (value: object, names: ReadonlySet<string>, where: string): void => {
  const unknown = unknownIn(value, names)
  if (unknown !== null) refuse(`${where}: unknown member ${unknown}`)
}
const digest = (value: string | undefined, where: string): void => {
  if (value !== undefined && !isHex64(value)) refuse(`${where}: not 64 lowercase hex digits`)
}
const text = (value: unknown, where: string): void => {
  if (typeof value !== 'string' || value === '') refuse(`${where}: a non-empty string is required`)
}

/** Closed (DESIGN §5): an extra member beside ours could pass for one of the profile's own. */
export const checkExtensions = (extensions: Extensions): void =>
  known(extensions, EXTENSION_NAMES, 'extensions')

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
    checkUnjudged('recovered without evidence', constraints, extensions)
  if (verdict.kind === 'ungated') checkUnjudged('ungated', constraints, extensions)
  if (verdict.kind === 'refused' && GATED.has(verdict.verdict_class) && !gated)
    refuse(`${verdict.verdict_class} names the check that gated the call (seed §8.1)`)
  const closes =
    verdict.kind === 'disposed' ||
    (verdict.kind === 'refused' &&
      (verdict.verdict_class === 'expired' || verdict.verdict_class === 'resolved'))
  if (closes && chain === undefined) refuse('a closure supersedes the item it closes (seed §5.4.4)')
}

const JUDGED = ['manifest_digest', 'policy_digest', 'mode']

/** Without its evidence nothing is known of how a call was judged; what came without a permit was not judged. */
function checkUnjudged(
  what: string,
  constraints: readonly ConstraintRecord[],
  extensions: object,
): void {
  const claimed = JUDGED.find((name) => Object.hasOwn(extensions, `dev.capsulegate.${name}`))
  if (constraints.length > 0 || claimed !== undefined)
    refuse(`${what} claims ${claimed ?? 'a constraint'}`)
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
  const unknown = unknownIn(record, RECORD)
  if (unknown !== null) return `unknown member ${unknown}`
  text(record.id, 'constraint id')
  const { result, severity, blocking, evidence_digest } = record
  if (resultShape.fault(result) !== null) return 'result'
  if (severityShape.fault(severity) !== null) return 'severity'
  if (typeof blocking !== 'boolean') return 'blocking'
  if (blocking && result !== 'fail') return 'only a fail gates'
  const unbound = evidence_digest !== undefined && !isHex64(evidence_digest)
  return unbound ? 'evidence_digest: not 64 lowercase hex digits' : null
}

function checkExpiry(policy: ExpiryPolicy): void {
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
