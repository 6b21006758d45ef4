import { rolesAt } from '../../../core/approval/deadline.js'
import type { Approval } from '../../../ports/state.js'
import type { Parts } from '../../context.js'
import { subjectOf } from '../../evidence/subject.js'
import { saltedPart } from '../../govern/dispatch.js'
import { haltFor } from '../../operate/halt.js'
import { signed } from '../../signed-event.js'
import { stands } from '../call-identity.js'
import { type Decider, type Resolution, refused } from './model.js'

export type Reopening =
  | { readonly kind: 'reopened' }
  | Extract<Resolution, { readonly kind: 'refused' }>

/** A person takes a refusal back: from the next call on a human is asked again. Nothing is approved by it. */
export async function reopen(
  approvalId: string,
  by: { readonly decider: Decider; readonly reason: string },
  parts: Parts,
): Promise<Reopening> {
  const approval = await parts.state.approval(approvalId)
  if (approval === null) return refused('unknown', 'there is no such request')
  const barred = bar(approval, by.decider, parts)
  if (barred !== null) return barred
  try {
    await lift(approval, by, parts)
  } catch (error) {
    parts.report({ level: 'error', event: 'reopening_not_recorded', detail: String(error) })
    return refused('record_unavailable', 'it could not be recorded; nothing changed')
  }
  return { kind: 'reopened' }
}

function bar(approval: Approval, decider: Decider, parts: Parts): Reopening | null {
  const { hitl, rung, agent, developer } = approval
  if (haltFor(parts.halts(), approval) !== null) {
    return refused('frozen', 'halted: nothing is decided until an operator resumes')
  }
  const asked = ['operator', ...rolesAt(hitl, rung)]
  if (!decider.roles.some((role) => asked.includes(role))) {
    return refused('role', `one of these may: ${asked.join(', ')}`)
  }
  if (decider.kind === 'machine') {
    return refused('people_only', 'a person refused it, so a person takes that back')
  }
  if (decider.name === '' || [agent, developer].includes(decider.name)) {
    return refused('own_request', 'nobody decides their own request')
  }
  return stands(approval, parts.journal.timestamp())
    ? null
    : refused('not_refused', 'no refusal by a person stands for this request')
}

/** Name and reason are private; the line has a pseudonym (promise 8). */
async function lift(
  { approvalId, operator, state }: Approval,
  { decider, reason }: { readonly decider: Decider; readonly reason: string },
  { journal, evidence, ...parts }: Parts,
): Promise<void> {
  if (state.kind !== 'closed') throw new TypeError('only what ended was refused')
  const { name, roles } = decider
  const on = state.capsuleId
  const part = saltedPart(
    'vote',
    'reopen',
    { approval_id: approvalId, on, name, roles, reason },
    parts,
  )
  const subject = await subjectOf(approvalId, { evidence })
  const at = journal.timestamp()
  await evidence.put({ actionId: approvalId, operator, subject, at, parts: [part] })
  const voter = parts.tenant.voter(name)
  const members = { approval_id: approvalId, on, voter, evidence_digest: part.digest }
  await journal.append([signed('REFUSAL_LIFTED', members, { ...parts, journal })])
}
