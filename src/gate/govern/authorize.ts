import { hex } from '../../core/bytes/hex.js'
import { olderDigests } from '../../core/call/digest.js'
import type { ConstraintRecord, Mode } from '../../core/capsule/model.js'
import { policyIntent, policyMandate } from '../../core/intent/policy-view.js'
import { jsonDigest } from '../../core/json/build.js'
import type { Args } from '../../core/manifest/route/read-result.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { CedarValue, PolicyDecision, PolicyRequest } from '../../ports/policy.js'
import type { Approval } from '../../ports/state.js'
import { replayOf } from '../answer/replay.js'
import { closing, findItem } from '../approval/find.js'
import { findStanding } from '../approval/standing.js'
import type { Authorized, Constrained, Item, Parts, World } from '../context.js'
import { RESTRICTED } from '../evidence/restricted.js'
import { demandsPerson } from '../intent/demands-person.js'
import { advance } from './advance.js'
import { type Details, type Exit, type Refused, refuse } from './exit.js'
import { hashKey } from './hash-key.js'

export const CEDAR_RECORD = 'dev.capsulegate.cedar'

const NO_ITEM: Item = { kind: 'none' }

/** Faults of the caller's values, not of the engine: too large, or finer than policy can compare exactly. */
const UNCOMPARABLE: ReadonlySet<string> = new Set(['args_invalid', 'args_too_large'])

/**
 * Cedar decides, schema-checked, with `context.approval.granted` as the grant says. A stored response for
 * the same key and request is found first: it needs no new approval, but is not given again if policy
 * denies it now. Where a human would have to be asked, Cedar decides again under a standing grant, if there is one.
 */
export async function authorize(judged: Constrained, parts: Parts): Promise<Authorized | Exit> {
  const keyHash = hashKey(judged, parts)
  const replay = keyHash === null ? null : await replayOf(judged, keyHash, parts)
  if (replay !== null) {
    if (replay.exit === 'refused') return replay
    // Nobody is asked about an answer that stands: where it may not be given again, the call ends here.
    if (judged.stopped !== null) return judged.stopped
    const decision = decide(judged, false)
    const known = withDecision(judged, decision, parts)
    const obeyed = await obey(decision, known, NO_ITEM, parts, { asks: false })
    return 'exit' in obeyed ? obeyed : replay
  }

  const found = await findItem(judged, parts)
  if ('exit' in found) return found
  let item: Item = found
  const constrained = underDigestOf(item, judged, parts)
  // A person's word lifts no constraint that blocks.
  if (item.kind === 'granted' && judged.stopped !== null) {
    const { stopped } = judged
    return { ...stopped, known: await closing(stopped.known, item.approval, parts) }
  }
  let decision = decide(constrained, item.kind === 'granted')
  // No standing grant is the judgement that an agent demands of a person.
  const mayStand = item.kind !== 'granted' && !demandsPerson(constrained)
  if (mayStand && asks(constrained, decision)) {
    const asked = item.kind === 'open' ? item.approval : null
    const standing = await findStanding(constrained, asked, parts)
    if (standing !== null) {
      item = standing
      decision = decide(constrained, true)
    }
  }
  const known = withDecision(constrained, decision, parts)
  const obeyed = await obey(decision, known, item, parts)
  return 'exit' in obeyed ? obeyed : advance(known, { decision: obeyed, keyHash, item })
}

/** Leaves where policy denies or fails. What policy would ask a human passes; in observe mode so does a denial. */
async function obey(
  decision: PolicyDecision,
  known: Constrained,
  item: Item,
  parts: Parts,
  { asks }: { readonly asks: boolean } = { asks: true },
): Promise<Authorized['decision'] | Refused> {
  if (decision.kind === 'error') {
    const { errorClass: observed, detail } = decision
    if (UNCOMPARABLE.has(observed)) {
      return refuse(known, 'arguments_invalid', { observed }, { fault: detail })
    }
    const { actionId } = known
    parts.report({ level: 'error', event: 'policy_error', actionId, detail })
    return refuse(known, 'policy_error', { observed })
  }
  if (decision.kind !== 'deny' || known.mode === 'observe') return decision
  // What an agent demands a person for waits, also where their word would not lift the denial (seed §4.4).
  if (asks && demandsPerson(known) && item.kind !== 'granted') return decision
  // What policy denies cannot be approved any more, so this refusal closes the item.
  const approval = approvalOf(item)
  const closed = approval === null ? known : await closing(known, approval, parts)
  const reason = { policy_ids: decision.policies }
  return refuse(closed, 'policy_denied', reason, denyDetails(decision, parts))
}

/** The operator's `@reason` of the policies that denied; never their text or ids (DESIGN §7). */
export const denyDetails = (
  { reason }: Extract<PolicyDecision, { kind: 'deny' }>,
  { denyDetail }: Parts,
): Details => (reason === null || denyDetail === 'code' ? {} : { deny_message: reason })

/** An item from before an upgrade has an older digest of the request: its call goes on under that one. */
function underDigestOf(item: Item, constrained: Constrained, parts: Parts): Constrained {
  const { requestDigest } = approvalOf(item) ?? constrained
  if (requestDigest === constrained.requestDigest) return constrained
  const older = olderDigests(constrained, parts)
  return advance(constrained, older.find((each) => each.requestDigest === requestDigest) ?? {})
}

/** Whether a human has to be asked; in observe mode only where the agent demands one. */
export const asks = (known: Constrained, decision: PolicyDecision): boolean =>
  demandsPerson(known) ||
  (known.mode === 'enforce' && (decision.kind === 'ask' || known.asking.length > 0))

export function approvalOf(item: Item): Approval | null {
  if (item.kind === 'none') return null
  return item.kind === 'standing' ? item.asked : item.approval
}

export function decide(constrained: Constrained, granted: boolean): PolicyDecision {
  const { rule, agent, world, intent, mandate } = constrained
  return world.policy.decide({
    principal: agent.agent,
    roles: agent.roles,
    developer: agent.developer,
    action: rule.action,
    resource: rule.resource,
    irreversibility: rule.effect.irreversibility_class,
    args: policyArgs(constrained.args),
    approval: { granted },
    ...(intent === null ? {} : { idp: policyIntent(intent.intent) }),
    // Policies see a mandate beside what was declared under it; one that only identifies its bearer is no more than that.
    ...(intent === null || mandate === null ? {} : { mandate: policyMandate(mandate) }),
  })
}

function withDecision(known: Constrained, decision: PolicyDecision, parts: Parts): Constrained {
  const restricted = known.intent?.intent.auditAccessible === false
  const { entry, part } = cedarRecord(decision, known, parts, restricted)
  return advance(known, {
    records: [...known.records, entry],
    evidence: [...known.evidence, part],
  })
}

/** Cedar's decision as a Constraint Record, bound to the full request it saw (DESIGN §5). */
export function cedarRecord(
  decision: PolicyDecision,
  { mode, world }: { readonly mode: Mode; readonly world: World },
  parts: Parts,
  /** What policies saw of the declaration is nothing for auditors. */
  restricted: boolean,
): { readonly entry: ConstraintRecord; readonly part: EvidencePart } {
  const value = {
    ...decisionEvidence(world, decision, parts),
    ...(restricted ? RESTRICTED : {}),
  }
  const digest = jsonDigest(value, parts.crypto)
  // As a value, not as its normalized text: Cedar reads the request again only with its empty lists.
  const part: EvidencePart = { digest, kind: 'cedar', name: CEDAR_RECORD, value }
  const passed = decision.kind === 'permit'
  const entry: ConstraintRecord = {
    blocking: !passed && (mode === 'enforce' || decision.kind === 'error'),
    check_type: 'dev.capsulegate.policy',
    evidence_digest: digest,
    id: CEDAR_RECORD,
    method: 'dev.capsulegate.cedar',
    result: passed ? 'pass' : 'fail',
    severity: 'critical',
  }
  return { entry, part }
}

function decisionEvidence(world: World, decision: PolicyDecision, { ids }: Parts) {
  return {
    constraint: CEDAR_RECORD,
    decision: decision.kind,
    ...(decision.kind === 'error'
      ? { error: decision.errorClass }
      : { observed: decision.observed, policies: decision.policies }),
    policy_digest: world.policy.digest,
    request: decision.request,
    salt: hex(ids.random(16)),
  }
}

/** Exact text for decimals; the engine refuses what it could not compare exactly. */
function policyArgs(args: Args): PolicyRequest['args'] {
  const out: Record<string, CedarValue> = Object.create(null)
  for (const [name, { type, value }] of args) {
    if (type === 'object' || type === 'objects') continue
    out[name] = type === 'integer' ? Number(value) : value
  }
  return out
}
