import { type Bounds, brokenBound, readBounds } from '../../core/approval/bounds.js'
import { describeCall } from '../../core/call/describe.js'
import { firstDifference } from '../../core/call/difference.js'
import { digestRequest, olderDigests } from '../../core/call/digest.js'
import type { Approval } from '../../ports/state.js'
import type { Constrained, Item, Known, Matched, Parts } from '../context.js'
import { thaw } from '../evidence/thaw.js'
import { factsOf, withoutPending } from '../govern/constrain.js'
import { type Refused, type RefusedBefore, refuse } from '../govern/exit.js'
import { identityOf, olderIdentityOf, stands } from './call-identity.js'
import { recallRun } from './decide/recall.js'

const NONE: Item = { kind: 'none' }

/**
 * The approval this call is about: the one it names, or the one open for exactly the same request. A
 * grant counts under the policy set and manifest it was given under, and only if the votes behind it
 * are still provable. In observe mode nobody is asked and no grant is spent.
 */
export async function findItem(
  known: Constrained,
  parts: Parts,
): Promise<Item | Refused | RefusedBefore> {
  if (known.mode === 'observe') return NONE
  const { approvalId } = known.call
  const approval =
    approvalId === null ? await openFor(known, parts) : await named(known, approvalId, parts)
  if (approval === null) return NONE
  if ('exit' in approval) return approval
  const stale = isStale(approval, known)
  if (approval.state.kind !== 'approved' || stale) return { kind: 'open', approval, stale }
  const recalled = await recallRun(approval, parts)
  if (recalled === null) return { kind: 'open', approval, stale: true }
  const broken = brokenBy(recalled.bounds, known, parts)
  if (broken !== null) {
    return refuse(await closing(withoutPending(known), approval, parts), 'policy_denied', {
      observed: 'approved_within_bounds',
      constraint: broken,
    })
  }
  return { kind: 'granted', approval, run: recalled.run }
}

/** Asked under another policy set or manifest, or for an operator that this gate no longer acts for. */
export const isStale = (
  approval: Approval,
  known: Pick<Matched, 'world' | 'manifestDigest'>,
): boolean =>
  approval.operator !== known.world.operator ||
  approval.policyDigest !== known.world.policy.digest ||
  approval.manifestDigest !== known.manifestDigest

async function openFor(known: Constrained, parts: Parts): Promise<Approval | null> {
  const { state } = parts
  const { agent } = known.agent
  const approval = await state.approvalFor(agent, known.requestDigest)
  // Nearly every call has no open item: a second digest is made only where there is something to find.
  if (approval !== null || (await state.openApprovals(agent)) === 0) return approval
  for (const { requestDigest } of olderDigests(known, parts)) {
    const older = await state.approvalFor(agent, requestDigest)
    if (older !== null && (await isFrozenAs(older, known, parts))) return older
  }
  return null
}

/** Asked about this call, under the digest of now or, before an upgrade, under the older one. */
async function isAbout(approval: Approval, known: Constrained, parts: Parts): Promise<boolean> {
  if (approval.requestDigest === known.requestDigest) return true
  const older = olderDigests(known, parts)
  return (
    older.some(({ requestDigest }) => requestDigest === approval.requestDigest) &&
    isFrozenAs(approval, known, parts)
  )
}

/** The older digest left headers open: what counts is the call that was frozen, digested as now. */
async function isFrozenAs(approval: Approval, known: Constrained, parts: Parts): Promise<boolean> {
  const frozen = await thaw(approval, parts)
  return (
    frozen !== null &&
    digestRequest(frozen.call, known.rule, parts).requestDigest === known.requestDigest
  )
}

/** Another's approval and an unknown one are the same answer: an id is no oracle. */
async function named(
  known: Constrained,
  id: string,
  parts: Parts,
): Promise<Approval | Refused | RefusedBefore> {
  const approval = await parts.state.approval(id)
  if (
    approval === null ||
    approval.agent !== known.agent.agent ||
    approval.operator !== known.world.operator
  ) {
    return refuse(
      withoutPending(known),
      'approval_closed',
      { observed: 'unknown' },
      { approval_id: id, approval_state: 'unknown' },
    )
  }
  const own = { ...withoutPending(known), decisionId: approval.approvalId }
  if (stands(approval, known.at) && isRefusalOf(approval, known, parts)) {
    return { exit: 'refused_before', known: own, approval }
  }
  if (!(await isAbout(approval, known, parts))) {
    const pointer = await differenceFrom(approval, known, parts)
    return refuse(
      own,
      'approval_mismatch',
      { observed: pointer },
      { approval_id: id, differs_at: pointer },
    )
  }
  const { state } = approval
  if (state.kind === 'closed') {
    return refuse(
      own,
      'approval_closed',
      { observed: state.verdict },
      { approval_id: id, approval_state: state.verdict, closed_by: state.actionId },
    )
  }
  return approval
}

const isRefusalOf = ({ callIdentity }: Approval, known: Constrained, parts: Parts): boolean =>
  callIdentity === identityOf(known, parts) || callIdentity === olderIdentityOf(known, parts)

async function differenceFrom(approval: Approval, known: Matched, parts: Parts): Promise<string> {
  const found = await parts.evidence.byDigest(approval.documentDigest)
  if (found.state !== 'present' || found.value.value === undefined) return ''
  return firstDifference(found.value.value, describeCall(known))
}

/** The name of a bound that does not hold for this call, or null. */
export function brokenBy(
  bounds: readonly Bounds[],
  known: Constrained,
  parts: Parts,
): string | null {
  for (const each of bounds) {
    const read = readBounds(each, known.rule)
    if (!read.ok) return 'unreadable'
    const broken = brokenBound(read.constraints, factsOf(known), known.at, parts.crypto)
    if (broken !== null) return broken
  }
  return null
}

/** This ending closes the item, unless somebody else is closing it already. */
export async function closing<K extends Known>(
  known: K,
  approval: Approval,
  parts: Parts,
): Promise<K & Pick<Known, 'decisionId' | 'supersedes'>> {
  const own = { ...known, decisionId: approval.approvalId }
  const mine = await mayClose(approval, known.actionId, parts)
  return mine ? { ...own, supersedes: approval.parent } : own
}

/** Claimed first and looked at again then: between a look and a claim the item may have moved on. */
export async function mayClose(
  { approvalId, parent }: Approval,
  actionId: string,
  { state }: Parts,
): Promise<boolean> {
  if ((await state.claim(parent, actionId)).kind === 'held') return false
  const now = await state.approval(approvalId)
  return now !== null && now.state.kind !== 'closed' && now.parent === parent
}
