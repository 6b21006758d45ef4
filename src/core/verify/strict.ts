import { isHex64 } from '../bytes/hex.js'
import { isEffectStatus } from '../capsule/derive.js'
import { isUtcTimestamp } from '../capsule/timestamp.js'
import {
  isArray,
  isObject,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
} from '../json/value.js'
import { type Findings, show } from './finding.js'
import { absent, block, REQUIRED } from './structure.js'

/** What the seed's text demands and a payload-level reference check leaves out: the strict profile. */

export function checkStrictStructure(capsule: JsonObject, findings: Findings): void {
  for (const name of REQUIRED) if (capsule.get(name) === '') findings.error(1, 'field_empty', name)
  const timestamp = capsule.get('timestamp')
  if (typeof timestamp === 'string' && timestamp !== '' && !isUtcTimestamp(timestamp))
    findings.error(1, 'timestamp_malformed', `timestamp is ${show(timestamp)} (seed §5.1)`)
  checkAssurance(capsule, findings)
  const effect = block(capsule, 'effect')
  if (effect !== null) {
    const status = effect.get('status')
    if (!isEffectStatus(status) && (absent(status) || typeof status === 'string'))
      findings.error(1, 'effect_status_invalid', `effect.status is ${show(status)} (seed §5.2)`)
    checkText(effect, 'effect', 'external_ref', findings)
    checkDigest(effect, 'effect', 'request_digest', findings)
    // A malformed digest under `confirmed` is check 3's.
    if (status !== 'confirmed') checkDigest(effect, 'effect', 'response_digest', findings)
  }
  const disposition = block(capsule, 'disposition')
  if (disposition !== null) {
    checkText(disposition, 'disposition', 'authority', findings)
    checkDigest(disposition, 'disposition', 'reason_digest', findings)
    checkExpiry(disposition, findings)
  }
  const constraints = capsule.get('constraints')
  if (isArray(constraints))
    constraints.forEach((record, index) => {
      checkRecord(record, `constraints[${index}]`, findings)
    })
}

/** Seed §5.3: every capsule carries the object, and its three domains are closed. */
const DOMAINS: readonly (readonly [name: string, domain: readonly string[]])[] = [
  ['attestation_mode', ['self_attested', 'anchored']],
  ['effect_mode', ['not_applicable', 'dispatched_unconfirmed', 'confirmed']],
  ['ledger_mode', ['standalone', 'chained', 'anchored']],
]

function checkAssurance(capsule: JsonObject, findings: Findings): void {
  if (!capsule.has('assurance')) findings.error(1, 'assurance_missing', 'seed §5.3')
  const assurance = block(capsule, 'assurance')
  if (assurance === null) return
  for (const [name, domain] of DOMAINS) {
    const value = assurance.get(name)
    if (!domain.some((known) => known === value))
      findings.error(1, 'assurance_invalid', `assurance.${name} is ${show(value)}`)
  }
}

function checkText(from: JsonObject, where: string, name: string, findings: Findings): void {
  const value = from.get(name)
  if (!absent(value) && typeof value !== 'string')
    findings.error(1, 'field_not_string', `${where}.${name} is ${show(value)}`)
}

function checkDigest(from: JsonObject, where: string, name: string, findings: Findings): void {
  const value = from.get(name)
  if (!absent(value) && !isHex64(value))
    findings.error(1, 'digest_malformed', `${where}.${name} is ${show(value)}`)
}

/** Seed §5.4: whole seconds and one of two ends, on deferrals only. */
function checkExpiry(disposition: JsonObject, findings: Findings): void {
  const policy = disposition.get('expiry_policy')
  if (absent(policy)) return
  const deferral =
    disposition.get('decision') === 'deferred' || disposition.get('verdict_class') === 'deferred'
  if (!deferral) findings.error(1, 'expiry_policy_misplaced', 'only a deferral expires (seed §5.4)')
  const ttl = isObject(policy) ? policy.get('ttl_seconds') : undefined
  const end = isObject(policy) ? policy.get('on_expiry') : undefined
  const whole =
    ttl instanceof JsonNumber && isSafeIntegerToken(ttl.token) && !ttl.token.startsWith('-')
  if (!whole || (end !== 'expired' && end !== 'escalated'))
    findings.error(1, 'expiry_policy_malformed', `ttl_seconds ${show(ttl)}, on_expiry ${show(end)}`)
}

const RECORD = ['id', 'result', 'severity', 'blocking']
const RESULTS = ['pass', 'fail', 'n/a'] as const

/** Seed §8.1. */
function checkRecord(record: JsonValue, where: string, findings: Findings): void {
  const wrong = (what: string, value: JsonValue | undefined): void =>
    findings.error(1, 'constraint_malformed', `${where}${what} is ${show(value)}`)
  if (!isObject(record)) {
    wrong('', record)
    return
  }
  const [id, result, severity, blocking] = RECORD.map((name) => record.get(name))
  if (typeof id !== 'string' || id === '') wrong('.id', id)
  if (!RESULTS.some((known) => known === result)) wrong('.result', result)
  if (typeof severity !== 'string' || severity === '') wrong('.severity', severity)
  if (typeof blocking !== 'boolean') wrong('.blocking', blocking)
  for (const name of ['check_type', 'method']) {
    const value = record.get(name)
    if (!absent(value) && (typeof value !== 'string' || value === '')) wrong(`.${name}`, value)
  }
  checkDigest(record, where, 'evidence_digest', findings)
}

/** Seed §5.2, the binding column: nothing is bound before it was sent or seen. */
export function checkStrictBinding(effect: JsonObject, findings: Findings): void {
  const status = effect.get('status')
  const early =
    status === 'planned'
      ? ['request_digest', 'response_digest']
      : status === 'dispatched'
        ? ['response_digest']
        : []
  for (const name of early)
    if (!absent(effect.get(name)))
      findings.error(3, 'digest_before_its_time', `effect.${name} on a ${status} effect`)
}
