import type { By } from '../core/capsule/input.js'
import type { MembersOf } from '../core/journal/vocabulary.js'
import { recallRun } from './resolve-recall.js'
import type { Parts } from './stage.js'
import { decidedAction, writeCapsule } from './write-capsule.js'

/** An ACTION_DISPATCHED line that no capsule concludes, as the fold found it. */
export type Orphan = MembersOf<'ACTION_DISPATCHED'>

/**
 * After a crash, before anything opens: every dispatch without a conclusion becomes
 * errored + dispatched + recovered, never silence (promise 2). What was sent is not sent again.
 */
export async function recover(orphans: readonly Orphan[], parts: Parts): Promise<number> {
  // Side by side: one sync serves them all.
  await Promise.all(orphans.map((orphan) => concludeOrphan(orphan, parts)))
  return orphans.length
}

async function concludeOrphan(orphan: Orphan, parts: Parts): Promise<void> {
  await writeCapsule(
    {
      what: {
        kind: 'verdict',
        input: {
          identity: decidedAction(orphan.action_id, orphan, parts.journal.timestamp()),
          verdict: {
            kind: 'recovered',
            by: await behind(orphan, parts),
            effect: {
              type: orphan.effect_type,
              irreversibility_class: orphan.irreversibility_class,
              request_digest: orphan.request_digest,
              request_octets: orphan.request_octets,
            },
          },
          constraints: orphan.constraints,
          extensions: {
            'dev.capsulegate.manifest_digest': orphan.manifest_digest,
            'dev.capsulegate.policy_digest': orphan.policy_digest,
            'dev.capsulegate.mode': orphan.mode,
            'dev.capsulegate.decision_id': orphan.decision_id,
          },
          ...(orphan.supersedes === undefined ? {} : { chain: { supersedes: orphan.supersedes } }),
        },
      },
      // Put before the dispatch line, when the call was judged.
      evidence: null,
      settles: { outcome: 'commit', replayable: false },
      urgent: true,
    },
    parts,
  )
  parts.report({ level: 'warn', event: 'recovered', actionId: orphan.action_id })
}

/** On whose word it had been sent: a person's, if that can still be shown; else the grant it names. */
async function behind({ grant, decision_id }: Orphan, parts: Parts): Promise<By> {
  if (grant === undefined) return { kind: 'policy' }
  const approval = grant === decision_id ? await parts.state.approval(decision_id) : null
  const recalled = approval === null ? null : await recallRun(approval, parts)
  return recalled?.run.by ?? { kind: 'grant', authority: grant }
}
