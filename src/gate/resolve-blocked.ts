import { HumanDecision } from '../core/capsule/human.js'
import type { OpenItem } from '../core/capsule/open-item.js'
import { jsonDigest } from '../core/json/build.js'
import type { EvidencePart } from '../ports.js'
import { saltedPart } from './dispatch.js'
import { openItem } from './open-items.js'
import type { Parts } from './stage.js'
import { decidedAction, evidenceOf, writeCapsule } from './write-capsule.js'

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
  const why = { code: 'item_closed', detail: reason, tenant_salt: parts.tenantSalt }
  const told: EvidencePart = {
    digest: jsonDigest(why, parts.crypto),
    kind: 'reason',
    name: 'item_closed',
    value: why,
  }
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
      evidence: evidenceOf({ operator: item.operator, actionId }, at, [shown, told]),
    },
    parts,
  )
  return capsule.capsule_id
}
