import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { decidedAction, writeCapsule } from '../write-capsule.js'
import { grantEntry } from './decide/record.js'

/** A capsule that opens an item, without its APPROVAL_OPENED line. */
export type Unasked = {
  readonly capsule_id: string
  readonly decision_id: string
  readonly operator: string
  readonly developer: string
}

/**
 * After power was lost between two lines of one append, the journal has the first and not the second. An item
 * without its APPROVAL_OPENED cannot be decided and its caller got no answer: it is closed. A quorum without
 * its grant gets the grant. Runs before anything listens.
 */
export async function recoverItems(unasked: readonly Unasked[], parts: Parts): Promise<void> {
  for (const item of unasked) await closeUnasked(item, parts)
  for (const approval of await parts.state.approvals()) {
    if (approval.state.kind !== 'pending' || !isDecided(approval)) continue
    await parts.journal.append([grantEntry(approval, parts)])
    const actionId = approval.approvalId
    parts.report({ level: 'warn', event: 'grant_recovered', actionId })
  }
}

const isDecided = ({ votes, hitl }: Approval): boolean =>
  votes.length >= hitl.quorum || votes.some(({ by }) => by === 'machine')

async function closeUnasked(item: Unasked, parts: Parts): Promise<void> {
  const { policy, mode } = parts.world()
  await writeCapsule(
    {
      identity: decidedAction(parts.ids.actionId(), item, parts.journal.timestamp()),
      verdict: { kind: 'refused', verdict_class: 'engine_failure' },
      constraints: [],
      extensions: {
        'dev.capsulegate.policy_digest': policy.digest,
        'dev.capsulegate.mode': mode,
        'dev.capsulegate.decision_id': item.decision_id,
      },
      chain: { supersedes: item.capsule_id },
    },
    { evidence: null },
    parts,
  )
  parts.report({ level: 'warn', event: 'unasked_closed', actionId: item.decision_id })
}
