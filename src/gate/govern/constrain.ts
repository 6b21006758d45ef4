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
import type { NotRead } from '../../core/manifest/route/read-result.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { BudgetClaim, BudgetReading } from '../../ports/state.js'
import type { Admitted, Constrained, Known, MustAsk, Parts } from '../context.js'
import { advance } from './advance.js'
import { jsonPart } from './dispatch.js'
import { type Refused, refuse } from './exit.js'

/**
 * The rule's predicates on this call, each a Constraint Record and its private evidence. Windowed ones
 * become claims, decided at `reserve` where taking and checking are one step. A failure that blocks
 * leaves here; in observe mode it is recorded as `fail`, `blocking: false` (DESIGN §6).
 */
export function constrain(admitted: Admitted, parts: Parts): Constrained | Refused {
  const records: ConstraintRecord[] = []
  const evidence: EvidencePart[] = []
  const claims: BudgetClaim[] = []
  const asking: string[] = []
  let stopping: { id: string; judged: Judgement } | null = null
  const facts = factsOf(admitted)
  const salt = salter(admitted.rule.constraints.length + 1, parts)
  if (isAnyUnread(admitted.notRead)) {
    const part = unreadPart(admitted, salt(), parts)
    evidence.push(part)
    records.push(unreadRecord(part.digest))
  }
  for (const id of admitted.rule.constraints) {
    const constraint = admitted.manifest.constraints[id] as Constraint
    const claim = claimFor(id, constraint, facts, admitted, parts)
    if (claim !== null) {
      claims.push(claim)
      continue
    }
    const moment = { now: admitted.at, prior: null }
    const judged = evaluate(id, constraint, facts, moment, parts.crypto)
    const effect = consequence(constraint, judged.result)
    const blocking = effect === 'block' && admitted.mode === 'enforce'
    if (effect === 'hitl') asking.push(id)
    if (blocking) stopping ??= { id, judged }
    const part = evidencePart(id, judged, admitted, salt(), parts)
    evidence.push(part)
    records.push(recordOf(id, constraint, judged.result, blocking, part.digest))
  }
  const constrained = advance(admitted, { records, evidence, claims, asking })
  if (stopping !== null) {
    const { id, judged } = stopping
    return refuse(
      withoutPending(constrained),
      judged.result === 'error' ? 'constraint_error' : 'constraint_failed',
      // No times: the same refusal has the same digest tomorrow (seed §5.4).
      { constraint: id, threshold: judged.thresholds, observed: givenOf(judged.inputs) },
    )
  }
  return constrained
}

export const UNREAD_RECORD = 'dev.capsulegate.not_read'

const isAnyUnread = ({ query, members }: NotRead): boolean => query.length > 0 || members.length > 0

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
  const { query, members } = known.notRead
  const value = {
    constraint: UNREAD_RECORD,
    manifest_digest: known.manifestDigest,
    members,
    query,
    salt,
  }
  return jsonPart('constraint', UNREAD_RECORD, value, parts)
}

/** What the atomic claim read, as records of the windowed constraints. */
export function recordReadings(
  known: Constrained,
  readings: readonly BudgetReading[],
  parts: Parts,
): { records: readonly ConstraintRecord[]; evidence: readonly EvidencePart[] } {
  const records: ConstraintRecord[] = []
  const evidence: EvidencePart[] = []
  const facts = factsOf(known)
  const salt = salter(readings.length, parts)
  for (const { constraint: id, prior } of readings) {
    const constraint = known.manifest.constraints[id] as Constraint
    const judged = evaluate(id, constraint, facts, { now: known.at, prior }, parts.crypto)
    const claim = known.claims.find((claimed) => claimed.constraint === id)
    const part = evidencePart(id, judged, known, salt(), parts)
    evidence.push(part)
    records.push(
      recordOf(
        id,
        constraint,
        judged.result,
        consequence(constraint, judged.result) === 'block' && claim?.advisory === false,
        part.digest,
      ),
    )
  }
  return { records, evidence }
}

/** Full windows that ask instead of refusing: from here on the call is one that a person must decide. */
export function withAsking(
  known: Constrained,
  { asking, readings }: MustAsk,
  parts: Parts,
): Constrained {
  const windowed = recordReadings(known, readings, parts)
  return advance(known, {
    asking: [...known.asking, ...asking],
    records: [...known.records, ...windowed.records],
    evidence: [...known.evidence, ...windowed.evidence],
  })
}

/** Every constraint of the rule has a record: what was not reached says so (n/a), omission is visible. */
export function withoutPending<K extends Known>(known: K): K {
  if (known.rule === undefined || known.manifest === undefined) return known
  const records = known.records ?? []
  const missing = known.rule.constraints.filter((id) => !records.some((record) => record.id === id))
  if (missing.length === 0) return known
  const { constraints } = known.manifest
  return {
    ...known,
    records: [
      ...records,
      ...missing.map((id) => recordOf(id, constraints[id] as Constraint, 'n/a', false, undefined)),
    ],
  }
}

/** What this call shows to predicates: the manifest's, a decider's and a standing grant's. */
export function factsOf(known: Admitted): Facts {
  return {
    args: known.args,
    body: known.body,
    agent: known.agent.agent,
    operator: known.world.operator,
    tool: known.rule.tool,
  }
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
const SALT_DIGITS = 2 * SALT_BYTES

/** A fresh salt for each part, out of one draw for all of them. */
function salter(count: number, { ids }: Parts): () => string {
  const digits = hex(ids.random(SALT_BYTES * count))
  let at = 0
  return () => {
    at += SALT_DIGITS
    return digits.slice(at - SALT_DIGITS, at)
  }
}

function evidencePart(
  id: string,
  judged: Judgement,
  known: Admitted,
  salt: string,
  parts: Parts,
): EvidencePart {
  const value = evidenceOf(id, known.manifestDigest, judged, salt)
  return jsonPart('constraint', id, value, parts)
}

/** The record knows pass, fail and n/a (seed §8.1): what could not be judged did not pass. */
function recordOf(
  id: string,
  constraint: Constraint,
  result: Result | 'n/a',
  blocking: boolean,
  digest: string | undefined,
): ConstraintRecord {
  const said = result === 'error' ? 'fail' : result
  const { check_type, method, severity } = constraint
  return digest === undefined
    ? { blocking, check_type, id, method, result: said, severity }
    : { blocking, check_type, evidence_digest: digest, id, method, result: said, severity }
}
