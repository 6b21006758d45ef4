import { rolesAt } from '../../../core/approval/deadline.js'
import type { Approval } from '../../../ports/state.js'
import type { Parts } from '../../context.js'
import { saltedPart } from '../../evidence/parts.js'
import { putBeside } from '../../evidence/record.js'
import { haltFor } from '../../operate/halt.js'
import { signed } from '../../signed-event.js'
import { stands } from '../call-identity.js'
import {
  type Decider,
  FROZEN,
  isOwnRequest,
  OWN_REQUEST,
  type RefusedDecision,
  refused,
  UNKNOWN,
} from './model.js'

export type Reopening = { readonly kind: 'reopened' } | RefusedDecision
type By = { readonly decider: Decider; readonly reason: string }

/** A person takes a refusal back: from the next call on a human is asked again. It approves nothing. */
export async function reopen(approvalId: string, by: By, parts: Parts): Promise<Reopening> {
  const approval = await parts.state.approval(approvalId)
  if (approval === null) return UNKNOWN
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

function bar(approval: Approval, decider: Decider, parts: Parts): RefusedDecision | null {
  if (haltFor(parts.halts(), approval) !== null) return FROZEN
  const asked = ['operator', ...rolesAt(approval.hitl, approval.rung)]
  if (!decider.roles.some((role) => asked.includes(role))) {
    return refused('role', `one of these may: ${asked.join(', ')}`)
  }
  if (decider.kind === 'machine') {
    return refused('people_only', 'a person refused it, so a person takes that back')
  }
  if (isOwnRequest(decider, approval)) return OWN_REQUEST
  return stands(approval, parts.journal.timestamp())
    ? null
    : refused('not_refused', 'no refusal by a person stands for this request')
}

/** Name and reason are private; the line has a pseudonym (promise 8). */
async function lift(approval: Approval, { decider, reason }: By, parts: Parts): Promise<void> {
  const { approvalId: approval_id, state } = approval
  if (state.kind !== 'closed') throw new TypeError('only what ended was refused')
  const { name, roles } = decider
  const on = state.capsuleId
  const part = saltedPart('vote', 'reopen', { approval_id, on, name, roles, reason }, parts)
  await putBeside(approval, part, parts)
  const voter = parts.tenant.voter(name)
  const members = { approval_id, on, voter, evidence_digest: part.digest }
  await parts.journal.append([signed('REFUSAL_LIFTED', members, parts)])
}
