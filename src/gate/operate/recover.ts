import type { By, CapsuleInput, EffectMeta } from '../../core/capsule/input.js'
import { vouchesFor } from '../../core/journal/dispatch-evidence.js'
import { plainEntry } from '../../core/journal/entry.js'
import type { MembersOf } from '../../core/journal/vocabulary.js'
import type { EvidencePart } from '../../ports/evidence.js'
import { recallRun } from '../approval/decide/recall.js'
import type { Parts } from '../context.js'
import { decidedAction, type WrittenWith, writeCapsule } from '../write-capsule.js'

/** An ACTION_DISPATCHED line that no capsule concludes. */
export type Orphan = MembersOf<'ACTION_DISPATCHED'>

/**
 * After a crash, before anything listens: every dispatch without a capsule becomes errored + dispatched +
 * recovered (promise 2). What was sent is not sent again.
 */
export async function recover(orphans: readonly Orphan[], parts: Parts): Promise<void> {
  // At the same time, so that one sync serves them all.
  await Promise.all(orphans.map((orphan) => concludeOrphan(orphan, parts)))
}

/** What the gate signs here is taken from a line that encrypted evidence vouches for, never from the line alone. */
async function concludeOrphan(orphan: Orphan, parts: Parts): Promise<void> {
  const { action_id: actionId } = orphan
  const found = await parts.evidence.byAction(actionId)
  const kept = found.state === 'present' ? found.value : []
  const vouched = await vouchedLine(actionId, kept, parts)
  const isCaptured =
    vouched !== null &&
    kept.some(({ kind, digest }) => kind === 'request' && digest === vouched.request_octets.digest)
  await writeCapsule(
    await inputOf(orphan, vouched, parts),
    {
      // Its evidence was written before the dispatch line.
      evidence: null,
      settles: { outcome: 'commit', replayable: false },
      ...besideOf(orphan, vouched, parts),
      ...(isCaptured ? { captured: ['request'] } : {}),
      urgent: true,
    },
    parts,
  )
  parts.report({ level: 'warn', event: 'recovered', actionId })
  if (vouched !== null) return
  const why =
    found.state === 'present' ? 'it does not vouch for the dispatch' : `it is ${found.state}`
  const detail = `the evidence cannot be used, because ${why}: its capsule claims no constraint, mode or authority`
  parts.report({ level: 'error', event: 'recovered_without_evidence', actionId, detail })
}

/**
 * Of a declared step: it was sent, and what became of its object is not known. What was sent cannot be compared. A line
 * that no evidence vouches for, as when that was erased, still says that the object may have changed.
 */
function besideOf(
  orphan: Orphan,
  vouched: Orphan | null,
  parts: Parts,
): Pick<WrittenWith, 'beside'> {
  const { intent, action_id } = vouched ?? orphan
  if (intent === undefined) return {}
  const isUnchanged = vouched !== null && intent.from_state === intent.to_state
  const to_state = isUnchanged ? intent.to_state : null
  const own = { event_id: parts.ids.actionId(), action_id, result: 'unconfirmed' } as const
  const entry = plainEntry('ACTION_RESULT_RECORDED', { ...intent, ...own, to_state })
  return { beside: () => [entry] }
}

/** Read again from the journal, because its digest depends on the order of its members; evidence of 0.1 vouches for no line. */
async function vouchedLine(
  actionId: string,
  kept: readonly EvidencePart[],
  { journal, crypto }: Parts,
): Promise<Orphan | null> {
  const part = kept.find(({ kind }) => kind === 'dispatch')
  if (part === undefined) return null
  // A line that cannot be read again, as in an archived segment, counts as not vouched for.
  for (const line of await journal.find(actionId).catch(() => [])) {
    if (line.type !== 'ACTION_DISPATCHED') continue
    const { v, origin, seq, prev, at, type, ...members } = line
    if (vouchesFor(part.value, members, crypto)) return members
  }
  return null
}

/** Without a vouched line there is a record that a request may have left, and none of how it was judged. */
async function inputOf(
  orphan: Orphan,
  vouched: Orphan | null,
  parts: Parts,
): Promise<CapsuleInput> {
  const line = vouched ?? orphan
  const { supersedes } = line
  const effect: EffectMeta = {
    type: line.effect_type,
    irreversibility_class: line.irreversibility_class,
    request_digest: line.request_digest,
    request_octets: line.request_octets,
    ...(line.acts === undefined ? {} : { acts: line.acts }),
  }
  const kind = 'recovered'
  return {
    identity: decidedAction(line.action_id, line, parts.journal.timestamp()),
    verdict:
      vouched === null
        ? { kind, evidence: 'missing', effect }
        : { kind, evidence: 'present', by: await behind(vouched, parts), effect },
    constraints: vouched?.constraints ?? [],
    extensions: {
      ...(vouched === null
        ? {}
        : {
            'dev.capsulegate.manifest_digest': vouched.manifest_digest,
            'dev.capsulegate.policy_digest': vouched.policy_digest,
            'dev.capsulegate.mode': vouched.mode,
          }),
      'dev.capsulegate.decision_id': line.decision_id,
      ...(vouched?.intent === undefined
        ? {}
        : { 'dev.capsulegate.intent_ref': vouched.intent.event_id }),
    },
    // The item this call was closing stays closed: its grant is spent.
    ...(supersedes === undefined ? {} : { chain: { supersedes } }),
  }
}

/** By whose decision it was sent: a person's, if that can still be shown; else the grant it names. */
async function behind(shown: Orphan, parts: Parts): Promise<By> {
  const { grant, decision_id } = shown
  if (grant === undefined) return { kind: 'policy' }
  const approval = grant === decision_id ? await parts.state.approval(decision_id) : null
  const asked = approval?.requestDigest === shown.request_digest ? approval : null
  const recalled = asked === null ? null : await recallRun(asked, parts)
  return recalled?.run.by ?? { kind: 'grant', authority: grant }
}
