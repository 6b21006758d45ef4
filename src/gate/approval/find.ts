import { type Bounds, brokenBound, readBounds } from '../../core/approval/bounds.js'
import { describeCall } from '../../core/call/describe.js'
import { firstDifference } from '../../core/call/difference.js'
import { digestRequest, olderDigests } from '../../core/call/digest.js'
import type { Approval } from '../../ports/state.js'
import type { Constrained, Item, Known, Matched, Parts } from '../context.js'
import { thaw } from '../evidence/frozen.js'
import { factsOf } from '../govern/constrain.js'
import { type Joined, type Refused, type RefusedBefore, refuse } from '../govern/exit.js'
import { demandsPerson } from '../intent/demands-person.js'
import { isAgain } from '../intent/is-again.js'
import { identitiesOf, stands } from './call-identity.js'
import { claimItem } from './claim-item.js'
import { recallRun } from './decide/recall.js'

/**
 * The approval this call is about: the one it names, or the one open for exactly the same request. A grant
 * counts under the policy set and manifest it was given under, and only if the votes behind it can still be
 * shown. In observe mode no human is asked and no grant is spent.
 */
export async function findItem(
  known: Constrained,
  parts: Parts,
): Promise<Item | Refused | RefusedBefore | Joined> {
  if (known.mode === 'observe' && !demandsPerson(known) && !isAgain(known)) return { kind: 'none' }
  const { approvalId } = known.call
  const approval =
    approvalId === null ? await openFor(known, parts) : await named(known, approvalId, parts)
  if (approval === null) return { kind: 'none' }
  if ('exit' in approval) return approval
  // The same request without the agent's demand for a person does not close the item that the demand opened, and
  // one without a declaration is no way around it.
  const isUndecided = approval.holds === 'call' && approval.state.kind !== 'approved'
  if (isUndecided && known.intent === null) return { exit: 'joined', known, approval }
  if (isUndecided && !demandsPerson(known)) return { kind: 'none' }
  // What people granted a session, for what it declared, no other one spends.
  if (approval.holds === 'call' && approval.sessionId !== sessionOf(known)) return { kind: 'none' }
  const stale = isStale(approval, known)
  if (approval.state.kind !== 'approved' || stale) return { kind: 'open', approval, stale }
  const recalled = await recallRun(approval, parts)
  if (recalled === null) return { kind: 'open', approval, stale: true }
  const broken = brokenBy(recalled.bounds, known, parts)
  if (broken !== null) {
    const reason = { observed: 'approved_within_bounds', constraint: broken }
    return refuse(await closing(known, approval, parts), 'policy_denied', reason)
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
  const approval = ownOf(await state.approvalsFor(agent, known.requestDigest), known)
  // Nearly every call has no open item: a second digest is made only where there is something to find.
  if (approval !== null || (await state.openApprovals(agent)) === 0) return approval
  for (const { requestDigest } of olderDigests(known, parts)) {
    const older = ownOf(await state.approvalsFor(agent, requestDigest), known)
    if (older !== null && (await isFrozenAs(older, known, parts))) return older
  }
  return null
}

const sessionOf = ({ intent }: Pick<Constrained, 'intent'>): string | undefined =>
  intent?.intent.sessionId

/**
 * Of what is open for a request: a session waits for its own item (seed §4.4), and any call for one that holds no
 * session. A call without a declaration meets whichever is undecided.
 */
export const ownOf = (
  open: readonly Approval[],
  { intent }: Pick<Constrained, 'intent'>,
): Approval | null =>
  open.find(
    ({ holds, sessionId, state }) =>
      holds === 'call' &&
      (intent === null ? state.kind === 'pending' : sessionId === sessionOf({ intent })),
  ) ??
  open.find(({ holds }) => holds === undefined) ??
  null

/** Asked about this call, under its digest of now or, before an upgrade, under an older one. */
async function isAbout(approval: Approval, known: Constrained, parts: Parts): Promise<boolean> {
  if (approval.requestDigest === known.requestDigest) return true
  const older = olderDigests(known, parts)
  return (
    older.some(({ requestDigest }) => requestDigest === approval.requestDigest) &&
    isFrozenAs(approval, known, parts)
  )
}

/** The older digest did not cover all headers: what counts is the call that was frozen, digested as now. */
async function isFrozenAs(approval: Approval, known: Constrained, parts: Parts): Promise<boolean> {
  const frozen = await thaw(approval, parts)
  return (
    frozen !== null &&
    digestRequest(frozen.call, known.rule, parts).requestDigest === known.requestDigest
  )
}

/** Another agent's approval is answered as an unknown one, so that ids cannot be probed. */
async function named(
  known: Constrained,
  id: string,
  parts: Parts,
): Promise<Approval | Refused | RefusedBefore> {
  const closed = (known: Known, observed: string, more = {}): Refused =>
    refuse(
      known,
      'approval_closed',
      { observed },
      { approval_id: id, approval_state: observed, ...more },
    )
  const approval = await parts.state.approval(id)
  const isOwn = approval?.agent === known.agent.agent && approval.operator === known.world.operator
  if (!isOwn) return closed(known, 'unknown')
  const own = { ...known, decisionId: approval.approvalId }
  if (stands(approval, known.at) && isRefusalOf(approval, known, parts)) {
    return { exit: 'refused_before', known: own, approval }
  }
  if (!(await isAbout(approval, known, parts))) {
    const observed = await differenceFrom(approval, known, parts)
    const details = { approval_id: id, differs_at: observed }
    return refuse(own, 'approval_mismatch', { observed }, details)
  }
  const { state } = approval
  return state.kind === 'closed'
    ? closed(own, state.verdict, { closed_by: state.actionId })
    : approval
}

const isRefusalOf = ({ callIdentity }: Approval, known: Constrained, parts: Parts): boolean =>
  callIdentity !== null && identitiesOf(known, parts)().includes(callIdentity)

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

/** A refusal that closes the item, unless another action is closing it already. */
export async function closing<K extends Known>(
  known: K,
  approval: Approval,
  parts: Parts,
): Promise<K & Pick<Known, 'decisionId' | 'supersedes'>> {
  const own = { ...known, decisionId: approval.approvalId }
  const mine = await mayClose(approval, known.actionId, parts)
  return mine ? { ...own, supersedes: approval.parent } : own
}

export const mayClose = async (item: Approval, actionId: string, parts: Parts): Promise<boolean> =>
  typeof (await claimItem(item, actionId, parts)) === 'object'
