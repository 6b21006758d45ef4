import { isHex64 } from '../bytes/hex.js'
import type { Crypto } from '../crypto/crypto.js'
import { parseSourced } from '../json/parse.js'
import { isObject, type JsonObject } from '../json/value.js'
import { readHeader, type StatementHeader, subjectUrn } from '../statement/header.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { type Sign1Code, type Sign1Result, verifySign1 } from '../statement/verify-sign1.js'
import type { ChainView } from './chain.js'
import { address, class1 } from './class1.js'
import {
  type Class1Result,
  clip,
  type Finding,
  Findings,
  type Profile,
  refused,
} from './finding.js'

export type StatementResult = {
  /** Signature, header and Class 1 all hold. */
  readonly ok: boolean
  readonly signature: {
    readonly ok: boolean
    readonly code: Sign1Code | null
    readonly detail?: string
    readonly kid: string | null
    readonly alg: number | null
  }
  /** Null until the signature holds: before that the header is unproven. */
  readonly header: StatementHeader | null
  /** What is wrong with the header, alone or against the payload (seed §3.1). */
  readonly findings: readonly Finding[]
  readonly class1: Class1Result | null
  readonly not_checked: readonly string[]
}
export type StatementOptions = {
  readonly keys: readonly PublicKeyRecord[]
  readonly crypto: Crypto
  readonly profile?: Profile
  readonly chain?: ChainView | null
  readonly pinned?: PublicKeyRecord | undefined
}

/** Signature first, then the header against the payload, then Class 1 on the signed bytes themselves. */
export function verifyStatement(cose: Uint8Array, options: StatementOptions): StatementResult {
  const { crypto, profile = 'strict', chain = null } = options
  const signed = verifySign1(cose, options)
  const { ok, code, detail, kid, alg } = signed
  if (!ok || signed.sign1 === null)
    return {
      ok: false,
      signature: detail === undefined ? { ok, code, kid, alg } : { ok, code, detail, kid, alg },
      header: null,
      findings: [],
      class1: null,
      not_checked: ['header', 'class1', 'receipt', 'class2'],
    }
  const { header, findings: own } = readHeader(signed.sign1.protected)
  const findings = new Findings()
  for (const { severity, code, detail } of own) findings.add(null, severity, code, clip(detail))
  const read = parseSourced(signed.sign1.payload)
  const result = read.ok
    ? class1(
        read.value,
        { crypto, profile, chain, signed: true },
        address(read.value, crypto, read.source),
      )
    : refused(1, 'not_strict_json', `${read.code} at ${read.at}`)
  const open = new Set(result.not_checked)
  if (read.ok && isObject(read.value)) compare(header, read.value, profile, findings, open)
  checkKey(signed, header, read.ok && isObject(read.value) ? read.value : null, findings, open)
  return {
    ok: !findings.failed && result.ok,
    signature: { ok, code, kid, alg },
    header,
    findings: findings.list,
    class1: result,
    not_checked: [...open],
  }
}

/** Seed §3.1: a registration policy acts on the header alone, so it must say what the payload says. */
function compare(
  header: StatementHeader,
  capsule: JsonObject,
  profile: Profile,
  findings: Findings,
  open: Set<string>,
): void {
  const differs = (claim: string, member: string): void =>
    findings.fault('header_mismatch', `${claim} does not match the payload's ${member}`)
  const { iss, sub, statement: type, actionType, decisionId } = header
  if (iss !== null && iss !== capsule.get('developer')) differs('iss', 'developer')
  if (actionType !== null && actionType !== capsule.get('action_type'))
    differs('capsule_action_type', 'action_type')
  const decision = capsule.get('dev.capsulegate.decision_id')
  if (decisionId !== null) {
    // A call that starts a decision is its own decision (DESIGN §5); other makers number their own way.
    if (typeof decision === 'string' && decisionId !== decision)
      differs('capsule_decision_id', 'decision_id')
    if (decision === undefined && decisionId !== capsule.get('action_id')) open.add('decision_id')
  }
  if (sub !== null && type === 'agent_action' && !isSubject(sub, capsule))
    differs('sub', 'operator and action_id')
  if (type === 'outcome') {
    // Its subject is the original action, which only the ledger knows (seed §3.3).
    open.add('outcome_subject')
    if (sub !== null && !sharesOperator(sub, capsule)) differs('sub', 'operator')
  }
  if (profile === 'strict') checkOutcomeMember(type, capsule, findings)
}

function checkOutcomeMember(
  type: StatementHeader['statement'],
  capsule: JsonObject,
  findings: Findings,
): void {
  const of = capsule.get('dev.capsulegate.outcome_of')
  if (type === 'agent_action' && of !== undefined)
    findings.fault('outcome_as_action', 'outcome_of on an agent_action statement')
  if (of !== undefined && !isHex64(of))
    findings.fault('outcome_of_malformed', 'outcome_of is no capsule_id')
}

/** The seed gives no escaping, so another maker may have written the two parts raw. */
function isSubject(sub: string, capsule: JsonObject): boolean {
  const operator = capsule.get('operator')
  const action = capsule.get('action_id')
  if (typeof operator !== 'string' || typeof action !== 'string') return false
  return (
    sub === `urn:agent-action-capsule:${operator}:${action}` || sub === subjectUrn(operator, action)
  )
}

function sharesOperator(sub: string, capsule: JsonObject): boolean {
  const operator = capsule.get('operator')
  if (typeof operator !== 'string') return false
  return [subjectUrn(operator, ''), `urn:agent-action-capsule:${operator}:`].some(
    (start) => sub.startsWith(start) && sub.length > start.length,
  )
}

/** A key bound to issuers speaks for those alone; its time is judged by the producer's own clock. */
function checkKey(
  { key }: Sign1Result,
  { iss }: StatementHeader,
  capsule: JsonObject | null,
  findings: Findings,
  open: Set<string>,
): void {
  open.add('time')
  if (key?.issuers === undefined) open.add('issuer_binding')
  else if (iss === null || !key.issuers.includes(iss))
    findings.fault('issuer_not_bound', 'the key is not pinned for this iss')
  const at = capsule?.get('timestamp')
  if (typeof at !== 'string') return
  const outside =
    (key?.valid_from !== undefined && before(at, key.valid_from)) ||
    (key?.valid_to !== undefined && before(key.valid_to, at))
  if (outside) findings.warn('key_outside_validity', 'timestamp is outside the key epoch')
}

/** Two UTC timestamps of maybe different precision: the shared prefix up to seconds, then the fraction. */
function before(a: string, b: string): boolean {
  const [x, y] = [a.slice(0, 19), b.slice(0, 19)]
  if (x !== y) return x < y
  const fraction = (text: string): string => text.slice(20, -1).padEnd(9, '0')
  return fraction(a) < fraction(b)
}
