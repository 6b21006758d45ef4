import type { ConstraintRecord } from '../../core/capsule/model.js'
import { askHuman, routedBy, standingRefusal } from '../approval/ask.js'
import type { Approved, Authorized, Parts, Run } from '../context.js'
import { saltedPart } from '../evidence/parts.js'
import { demandsPerson, URGENCY_RECORD } from '../intent/demands-person.js'
import { advance } from './advance.js'
import { approvalOf, asks } from './authorize.js'
import { type Exit, refuse } from './exit.js'

export const APPROVAL_RECORD = 'dev.capsulegate.approval'

/**
 * Must a human decide? A grant for this exact request, or a standing one, lets the call go on. Otherwise the
 * call leaves here, and joins or opens an item. In observe mode no human is asked: the record says that one
 * would have been.
 */
export async function approve(authorized: Authorized, parts: Parts): Promise<Approved | Exit> {
  const { item } = authorized
  if (item.kind === 'granted') return running(authorized, item.run, item.approval.approvalId)
  if (item.kind === 'standing') return running(authorized, item.run, item.grant)
  if (asks(authorized, authorized.decision)) {
    const stopped = gatedByUrgency(gatedByAsking(authorized), parts)
    return parts.approvals
      ? askHuman(stopped, parts)
      : refuse(stopped, 'decision_needed', routedBy(stopped).reason)
  }
  const governed = authorized.rule.intent !== undefined
  const approval = governed ? await standingRefusal(authorized, parts) : null
  // Its agent had demanded a person, and got an answer: leaving the demand out, or the declaration, is no way around that.
  if (approval?.holds === 'call') return { exit: 'refused_before', known: authorized, approval }
  return advance(authorized, { grant: null, by: { kind: 'policy' }, ...closes(authorized) })
}

/**
 * A constraint that asks for a human blocks the call it sends to one (seed §8.1), and does not block a call
 * that runs under a grant: so its record is completed only here. Cedar's record has it from the start.
 */
function gatedByAsking(authorized: Authorized): Authorized {
  const { asking, records } = authorized
  return advance(authorized, {
    records: records.map((record) =>
      asking.includes(record.id) ? { ...record, blocking: true } : record,
    ),
  })
}

/** The agent's own demand gates the call too, as a record of its own (seed §8.1). */
function gatedByUrgency(authorized: Authorized, parts: Parts): Authorized {
  const { intent, records, evidence } = authorized
  if (intent === null || !demandsPerson(authorized)) return authorized
  const value = {
    constraint: URGENCY_RECORD,
    intent_digest: intent.digest,
    hem_urgency: 'REQUIRED',
  }
  const part = saltedPart('constraint', URGENCY_RECORD, value, parts)
  const record: ConstraintRecord = {
    id: URGENCY_RECORD,
    check_type: URGENCY_RECORD,
    method: 'dev.capsulegate.intent',
    result: 'fail',
    severity: 'high',
    blocking: true,
    evidence_digest: part.digest,
  }
  return advance(authorized, { records: [...records, record], evidence: [...evidence, part] })
}

/** The decision is a Constraint Record of its own, bound to the votes behind it (seed §8.1). */
function running(authorized: Authorized, { by, part }: Run, grant: string): Approved {
  return advance(authorized, {
    records: [...authorized.records, approvalRecord('pass', part.digest)],
    evidence: [...authorized.evidence, part],
    grant,
    by,
    ...closes(authorized),
  })
}

export const approvalRecord = (
  result: ConstraintRecord['result'],
  evidence_digest: string,
): ConstraintRecord => ({
  id: APPROVAL_RECORD,
  check_type: APPROVAL_RECORD,
  method: 'dev.capsulegate.human_decision',
  result,
  severity: 'critical',
  blocking: result === 'fail',
  evidence_digest,
})

/** A call that runs closes the item about it, also where no decision was needed in the end. */
function closes({ item, actionId }: Authorized): Pick<Approved, 'decisionId' | 'supersedes'> {
  const approval = approvalOf(item)
  return approval === null
    ? { decisionId: actionId, supersedes: null }
    : { decisionId: approval.approvalId, supersedes: approval.parent }
}
