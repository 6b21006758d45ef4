import type { ConstraintRecord } from '../../core/capsule/model.js'
import { openItem, routedBy } from '../approval/open.js'
import type { Approved, Authorized, Parts, Run } from '../context.js'
import { advance } from './advance.js'
import { approvalOf, asks } from './authorize.js'
import { withoutPending } from './constrain.js'
import { type Exit, type Refused, refuse } from './exit.js'

const POLICY = { kind: 'policy' } as const

export const APPROVAL_RECORD = 'dev.capsulegate.approval'

/**
 * Must a human decide? A grant for this exact request, or a standing one, lets the call go on; an open
 * question is joined or asked, and the call leaves here. In observe mode nobody is asked: the record
 * says that somebody would have been.
 */
export async function approve(authorized: Authorized, parts: Parts): Promise<Approved | Exit> {
  const { item } = authorized
  if (item.kind === 'granted') {
    return running(authorized, item.run, item.approval.approvalId)
  }
  if (item.kind === 'standing') return running(authorized, item.run, item.grant)
  if (asks(authorized, authorized.decision)) {
    const stopped = gatedByAsking(authorized)
    return parts.approvals ? openItem(stopped, parts) : nobodyToAsk(stopped)
  }
  const { decisionId, supersedes } = closes(authorized)
  return advance(authorized, { grant: null, by: POLICY, decisionId, supersedes })
}

/**
 * A check that asks for a human gates the call it sends to one (seed §8.1). Once a grant lets the call
 * run it has gated nothing, so this is known only here; Cedar's own record says it from the start.
 */
function gatedByAsking(authorized: Authorized): Authorized {
  const { asking, records } = authorized
  return advance(authorized, {
    records: records.map((record) =>
      asking.includes(record.id) ? { ...record, blocking: true } : record,
    ),
  })
}

/** Who decided becomes a Constraint Record of its own, bound to the votes behind it (seed §8.1). */
function running(authorized: Authorized, { by, part }: Run, grant: string): Approved {
  const { decisionId, supersedes } = closes(authorized)
  return advance(authorized, {
    records: [...authorized.records, approvalRecord('pass', part.digest)],
    evidence: [...authorized.evidence, part],
    grant,
    by,
    decisionId,
    supersedes,
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

/** A call that runs closes what was asked about it, also when in the end nobody had to answer. */
function closes({ item, actionId }: Authorized): Pick<Approved, 'decisionId' | 'supersedes'> {
  const approval = approvalOf(item)
  return approval === null
    ? { decisionId: actionId, supersedes: null }
    : { decisionId: approval.approvalId, supersedes: approval.parent }
}

const nobodyToAsk = (authorized: Authorized): Refused =>
  refuse(withoutPending(authorized), 'decision_needed', routedBy(authorized).reason)
