import { hex } from '../../core/bytes/hex.js'
import type { ConstraintRecord } from '../../core/capsule/model.js'
import { claimOf } from '../../core/manifest/constraint/claims.js'
import { consequence, evaluate } from '../../core/manifest/constraint/evaluate.js'
import { evidenceOf } from '../../core/manifest/constraint/evidence.js'
import { type Facts, selectInputs } from '../../core/manifest/constraint/inputs.js'
import {
  givenOf,
  type Judgement,
  needsClaim,
  type Result,
} from '../../core/manifest/constraint/predicates.js'
import type { Constraint } from '../../core/manifest/model.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { BudgetClaim, BudgetReading } from '../../ports/state.js'
import type { Admitted, Constrained, Intended, Known, Parts } from '../context.js'
import { jsonPart } from '../evidence/parts.js'
import { demandsPerson } from '../intent/demands-person.js'
import { advance } from './advance.js'
import { type Refused, refuse } from './exit.js'

/**
 * The rule's predicates on this call, each a Constraint Record and its private evidence. Windowed ones
 * become budget claims, decided at `reserve` where taking and checking are one step. A failure that blocks
 * leaves here, unless the agent demands a person: then it waits first, and leaves when it comes again. In observe
 * mode it is recorded as `fail`, `blocking: false` (DESIGN §6).
 */
export function constrain(intended: Intended, parts: Parts): Constrained | Refused {
  const { rule, manifest, notRead, mode } = intended
  const records: ConstraintRecord[] = []
  const evidence: EvidencePart[] = []
  const claims: BudgetClaim[] = []
  const asking: string[] = []
  let stopping: { id: string; judged: Judgement } | null = null
  const facts = factsOf(intended)
  const salt = salter(rule.constraints.length + 1, parts)
  if (notRead.query.length > 0 || notRead.members.length > 0) {
    const part = unreadPart(intended, salt(), parts)
    evidence.push(part)
    records.push(unreadRecord(part.digest))
  }
  for (const id of rule.constraints) {
    const claim = claimFor(id, manifest.constraints[id] as Constraint, facts, intended, parts)
    if (claim !== null) {
      claims.push(claim)
      continue
    }
    const { constraint, judged, effect, part } = judge(id, null, facts, intended, salt(), parts)
    const blocking = effect === 'block' && mode === 'enforce'
    if (effect === 'hitl') asking.push(id)
    if (blocking) stopping ??= { id, judged }
    evidence.push(part)
    records.push(recordOf(id, constraint, judged.result, blocking, part.digest))
  }
  const constrained = advance(intended, { records, evidence, claims, asking, stopped: null })
  if (stopping === null) return constrained
  const { id, judged } = stopping
  const stopped = refuse(
    constrained,
    judged.result === 'error' ? 'constraint_error' : 'constraint_failed',
    // No times: the same refusal has the same digest tomorrow (seed §5.4).
    { constraint: id, threshold: judged.thresholds, observed: givenOf(judged.inputs) },
  )
  return demandsPerson(intended) ? advance(constrained, { stopped }) : stopped
}

/** The records of windowed constraints, once `reserve` has read their windows; a later reading replaces them. */
export function withReadings<K extends Constrained>(
  known: K,
  readings: readonly BudgetReading[],
  parts: Parts,
): K {
  if (readings.length === 0) return known
  const isRead = (id: string | undefined): boolean =>
    readings.some(({ constraint }) => constraint === id)
  const records = known.records.filter(({ id }) => !isRead(id))
  const evidence = known.evidence.filter(({ kind, name }) => kind !== 'constraint' || !isRead(name))
  const facts = factsOf(known)
  const salt = salter(readings.length, parts)
  for (const { constraint: id, prior } of readings) {
    const { constraint, judged, effect, part } = judge(id, prior, facts, known, salt(), parts)
    const claim = known.claims.find((claimed) => claimed.constraint === id)
    const blocking = effect === 'block' && claim?.advisory === false
    evidence.push(part)
    records.push(recordOf(id, constraint, judged.result, blocking, part.digest))
  }
  return advance(known, { records, evidence })
}

/** Every constraint of the rule has a record: `n/a` where it was not reached, so that an omission shows. */
export function allRecords({ records, rule, manifest }: Known): readonly ConstraintRecord[] {
  // A call that left before `constrain` has none.
  if (records === undefined || rule === undefined || manifest === undefined) return records ?? []
  const missing = rule.constraints.filter((id) => !records.some((record) => record.id === id))
  if (missing.length === 0) return records
  const { constraints } = manifest
  return [
    ...records,
    ...missing.map((id) => recordOf(id, constraints[id] as Constraint, 'n/a', false, undefined)),
  ]
}

/** What predicates see of this call: the manifest's, a decider's and a standing grant's. */
export function factsOf({ args, body, agent, world, rule }: Admitted): Facts {
  return { args, body, agent: agent.agent, operator: world.operator, tool: rule.tool }
}

export const UNREAD_RECORD = 'dev.capsulegate.not_read'

/** Observe mode passes what the rule does not read: the record says so, its evidence has the names. */
const unreadRecord = (evidence_digest: string): ConstraintRecord => ({
  blocking: false,
  check_type: 'dev.capsulegate.reading',
  evidence_digest,
  id: UNREAD_RECORD,
  method: 'dev.capsulegate.closed_request',
  result: 'fail',
  severity: 'high',
})

function unreadPart(known: Admitted, salt: string, parts: Parts): EvidencePart {
  const { notRead, manifestDigest: manifest_digest } = known
  const { query, members } = notRead
  const value = { constraint: UNREAD_RECORD, manifest_digest, members, query, salt }
  return jsonPart('constraint', UNREAD_RECORD, value, parts)
}

/** `prior` is what a window held before this call; null where the constraint has none. */
function judge(
  id: string,
  prior: string | null,
  facts: Facts,
  { manifest, manifestDigest, at: now }: Admitted,
  salt: string,
  parts: Parts,
) {
  const constraint = manifest.constraints[id] as Constraint
  const judged = evaluate(id, constraint, facts, { now, prior }, parts.crypto)
  const effect = consequence(constraint, judged.result)
  const part = jsonPart('constraint', id, evidenceOf(id, manifestDigest, judged, salt), parts)
  return { constraint, judged, effect, part }
}

/** Null when the constraint is not windowed, or its claim cannot be stated: then it is judged an error now. */
function claimFor(
  id: string,
  constraint: Constraint,
  facts: Facts,
  known: Admitted,
  parts: Parts,
): BudgetClaim | null {
  if (!needsClaim(constraint)) return null
  const advisory = known.mode === 'observe' || constraint.on_fail === 'warn'
  const claimed = claimOf(id, constraint, selectInputs(constraint, facts), parts.crypto, advisory)
  if (!claimed.ok) return null
  const { claim } = claimed
  return { ...claim, scope: parts.tenant.budgetScope(claim.scope) }
}

const SALT_BYTES = 16

/** A fresh salt for each part, out of one draw of random bytes for all of them. */
function salter(count: number, { ids }: Parts): () => string {
  const digits = hex(ids.random(SALT_BYTES * count))
  let at = 0
  return () => {
    at += 2 * SALT_BYTES
    return digits.slice(at - 2 * SALT_BYTES, at)
  }
}

/** The record has pass, fail and n/a (seed §8.1): what could not be judged did not pass. */
function recordOf(
  id: string,
  { check_type, method, severity }: Constraint,
  judged: Result | 'n/a',
  blocking: boolean,
  evidence_digest: string | undefined,
): ConstraintRecord {
  const result = judged === 'error' ? 'fail' : judged
  return evidence_digest === undefined
    ? { blocking, check_type, id, method, result, severity }
    : { blocking, check_type, evidence_digest, id, method, result, severity }
}
