import type { AssuranceLevel } from '../../../core/approval/deadline.js'
import { HumanDecision } from '../../../core/capsule/human.js'
import type { OpenItem } from '../../../core/capsule/open-item.js'
import type { Parts } from '../../context.js'
import { reasonPart, saltedPart } from '../../evidence/parts.js'
import { subjectOf } from '../../evidence/record.js'
import { signed } from '../../signed-event.js'
import { decidedAction, writeCapsule } from '../../write-capsule.js'
import { findOpenItem } from '../open-items.js'

/** Authenticated by the caller; never an agent. */
type Person = { readonly name: string; readonly assurance: AssuranceLevel }
export type ClosedBy = { readonly person: Person; readonly reason: string }
export type Closed =
  | { readonly kind: 'closed'; readonly capsuleId: string; readonly actionId: string }
  | { readonly kind: 'not_open' }
  /** It waits for a decision, and is closed by one. */
  | { readonly kind: 'not_blocked' }
  /** Another action is closing it at this moment. */
  | { readonly kind: 'busy' }

/** A person has seen that the call was blocked and needs nothing more: `resolved`, superseding it (DESIGN §6). */
export async function closeBlocked(capsuleId: string, by: ClosedBy, parts: Parts): Promise<Closed> {
  const actionId = parts.ids.actionId()
  if ((await parts.state.claim(capsuleId, actionId)).kind === 'held') return { kind: 'busy' }
  try {
    const item = await findOpenItem(capsuleId, parts)
    if (item === null) return { kind: 'not_open' }
    if (item.verdict_class !== 'blocked') return { kind: 'not_blocked' }
    return { kind: 'closed', actionId, capsuleId: await close(item, actionId, by, parts) }
  } finally {
    await parts.state.unclaim(actionId)
  }
}

async function close(
  item: OpenItem,
  actionId: string,
  { person, reason }: ClosedBy,
  parts: Parts,
): Promise<string> {
  const at = parts.journal.timestamp()
  const { operator, capsule_id } = item
  const { name: approver, assurance } = person
  const shown = saltedPart('vote', 'close', { ...item, approver, assurance, reason }, parts)
  // The person's own words are in their vote: a reason holds codes alone (seed §5.4).
  const code = reasonPart('item_closed', { code: 'item_closed' }, parts)
  const decision = HumanDecision.authenticated({
    decisionId: item.decision_id,
    // A blocked call has no effect: the item itself is what the person saw.
    requestDigest: capsule_id,
    documentDigest: shown.digest,
    approver,
    assurance,
    outcome: 'withdraw',
    at,
  })
  const subject = await subjectOf(item.action_id, parts)
  const voter = parts.tenant.voter(approver)
  const members = { on: capsule_id, voter, assurance, evidence_digest: shown.digest }
  const capsule = await writeCapsule(
    {
      identity: decidedAction(actionId, item, at),
      verdict: { kind: 'disposed', decision, reason_digest: code.digest },
      constraints: [],
      extensions: {},
      chain: { supersedes: capsule_id },
    },
    {
      evidence: { actionId, operator, subject, at, parts: [shown, code] },
      // `human_disposed` rests on a signed line, here as for votes: a verifier needs no exception.
      beside: () => [signed('ITEM_CLOSED', members, parts)],
    },
    parts,
  )
  return capsule.capsule_id
}
