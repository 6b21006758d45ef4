import { HumanDecision } from '../../../core/capsule/human.js'
import type { OpenItem } from '../../../core/capsule/open-item.js'
import type { Parts } from '../../context.js'
import { reasonPart } from '../../evidence/reason.js'
import { subjectOf } from '../../evidence/subject.js'
import { saltedPart } from '../../govern/dispatch.js'
import { signed } from '../../signed-event.js'
import { decidedAction, evidenceOf, writeCapsule } from '../../write-capsule.js'
import { openItem } from '../open-items.js'

/** Authenticated by the caller; never an agent. */
type Person = { readonly name: string; readonly assurance: 'L1' | 'L2' | 'L3' }
export type ClosedBy = { readonly person: Person; readonly reason: string }
export type Closed =
  | { readonly kind: 'closed'; readonly capsuleId: string; readonly actionId: string }
  | { readonly kind: 'not_open' }
  /** Waiting for a decision: that is decided, not swept away. */
  | { readonly kind: 'not_blocked' }
  /** Somebody else is closing it at this moment. */
  | { readonly kind: 'busy' }

/** A person has seen that the call was blocked and needs nothing more: `resolved`, superseding it (DESIGN §6). */
export async function closeBlocked(capsuleId: string, by: ClosedBy, parts: Parts): Promise<Closed> {
  const actionId = parts.ids.actionId()
  if ((await parts.state.claim(capsuleId, actionId)).kind === 'held') return { kind: 'busy' }
  try {
    const item = await openItem(capsuleId, parts)
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
  const shown = saltedPart(
    'vote',
    'close',
    { ...item, approver: person.name, assurance: person.assurance, reason },
    parts,
  )
  // The person's own words are in their vote: a reason holds codes alone (seed §5.4).
  const told = reasonPart('item_closed', { code: 'item_closed' }, parts)
  const decision = HumanDecision.authenticated({
    decisionId: item.decision_id,
    // A blocked call never became an effect: the item itself is what the person saw.
    requestDigest: item.capsule_id,
    documentDigest: shown.digest,
    approver: person.name,
    assurance: person.assurance,
    outcome: 'withdraw',
    at,
  })
  const capsule = await writeCapsule(
    {
      what: {
        kind: 'verdict',
        input: {
          identity: decidedAction(actionId, item, at),
          verdict: { kind: 'disposed', decision, reason_digest: told.digest },
          constraints: [],
          extensions: {},
          chain: { supersedes: item.capsule_id },
        },
      },
      evidence: evidenceOf(
        { operator: item.operator, actionId },
        at,
        [shown, told],
        await subjectOf(item.action_id, parts),
      ),
      // `human_disposed` rests on a signed line, here as for votes: a verifier needs no exception.
      beside: () => [
        signed(
          'ITEM_CLOSED',
          {
            on: item.capsule_id,
            voter: parts.tenant.voter(person.name),
            assurance: person.assurance,
            evidence_digest: shown.digest,
          },
          parts,
        ),
      ],
    },
    parts,
  )
  return capsule.capsule_id
}
