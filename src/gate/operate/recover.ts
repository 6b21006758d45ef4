import type { By, CapsuleInput, EffectMeta } from '../../core/capsule/input.js'
import { vouchesFor } from '../../core/journal/dispatch-evidence.js'
import type { MembersOf } from '../../core/journal/vocabulary.js'
import type { EvidencePart } from '../../ports/evidence.js'
import { recallRun } from '../approval/decide/recall.js'
import type { Parts } from '../context.js'
import { decidedAction, type Happening, writeCapsule } from '../write-capsule.js'

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

/** What the gate signs here it takes from a line that sealed evidence vouches for, never from the line alone. */
async function concludeOrphan(orphan: Orphan, parts: Parts): Promise<void> {
  const { action_id: actionId } = orphan
  const found = await parts.evidence.byAction(actionId)
  const kept = found.state === 'present' ? found.value : []
  const shown = await vouchedLine(actionId, kept, parts)
  await writeCapsule(
    {
      what: {
        kind: 'verdict',
        input: shown === null ? unshown(orphan, parts) : await inputOf(shown, parts),
      },
      // Put before the dispatch line, when the call was judged.
      evidence: null,
      settles: { outcome: 'commit', replayable: false },
      ...(shown === null ? {} : capturedIn(kept, shown)),
      urgent: true,
    },
    parts,
  )
  parts.report({ level: 'warn', event: 'recovered', actionId })
  if (shown !== null) return
  const why =
    found.state === 'present' ? 'it does not vouch for the dispatch' : `it is ${found.state}`
  const detail = `the evidence cannot be used, because ${why}: its capsule claims no constraint, mode or authority`
  parts.report({ level: 'error', event: 'recovered_without_evidence', actionId, detail })
}

/** Read again from the journal, in the order its text was sealed in; evidence from before 0.2 vouches for none. */
async function vouchedLine(
  actionId: string,
  kept: readonly EvidencePart[],
  { journal, crypto }: Parts,
): Promise<Orphan | null> {
  const part = kept.find(({ kind }) => kind === 'dispatch')
  if (part === undefined) return null
  // A line that cannot be read again, as in an archived segment, is vouched for by nothing.
  for (const line of await journal.find(actionId).catch(() => [])) {
    if (line.type !== 'ACTION_DISPATCHED') continue
    const { v, origin, seq, prev, at, type, ...members } = line
    if (vouchesFor(part.value, members, crypto)) return members
  }
  return null
}

async function inputOf(shown: Orphan, parts: Parts): Promise<CapsuleInput> {
  return {
    identity: decidedAction(shown.action_id, shown, parts.journal.timestamp()),
    verdict: {
      kind: 'recovered',
      evidence: 'present',
      by: await behind(shown, parts),
      effect: effectOf(shown),
    },
    constraints: shown.constraints,
    extensions: {
      'dev.capsulegate.manifest_digest': shown.manifest_digest,
      'dev.capsulegate.policy_digest': shown.policy_digest,
      'dev.capsulegate.mode': shown.mode,
      'dev.capsulegate.decision_id': shown.decision_id,
    },
    ...chainOf(shown),
  }
}

/** A request may have left, so there is a record of it; of how it was judged nothing can be shown. */
const unshown = (orphan: Orphan, parts: Parts): CapsuleInput => ({
  identity: decidedAction(orphan.action_id, orphan, parts.journal.timestamp()),
  verdict: { kind: 'recovered', evidence: 'missing', effect: effectOf(orphan) },
  constraints: [],
  extensions: { 'dev.capsulegate.decision_id': orphan.decision_id },
  ...chainOf(orphan),
})

const effectOf = (sent: Orphan): EffectMeta => ({
  type: sent.effect_type,
  irreversibility_class: sent.irreversibility_class,
  request_digest: sent.request_digest,
  request_octets: sent.request_octets,
})

/** The item this call was closing stays closed: its grant is spent. */
const chainOf = ({ supersedes }: Pick<Orphan, 'supersedes'>): Pick<CapsuleInput, 'chain'> =>
  supersedes === undefined ? {} : { chain: { supersedes } }

const capturedIn = (
  kept: readonly EvidencePart[],
  { request_octets }: Orphan,
): Pick<Happening, 'captured'> =>
  kept.some(({ kind, digest }) => kind === 'request' && digest === request_octets.digest)
    ? { captured: ['request'] }
    : {}

/** On whose word it had been sent: a person's, if that can still be shown; else the grant it names. */
async function behind(shown: Orphan, parts: Parts): Promise<By> {
  const { grant, decision_id } = shown
  if (grant === undefined) return { kind: 'policy' }
  const approval = grant === decision_id ? await parts.state.approval(decision_id) : null
  const asked = approval?.requestDigest === shown.request_digest ? approval : null
  const recalled = asked === null ? null : await recallRun(asked, parts)
  return recalled?.run.by ?? { kind: 'grant', authority: grant }
}
