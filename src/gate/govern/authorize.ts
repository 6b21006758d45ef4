import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import { olderDigests } from '../../core/call/digest.js'
import type { ConstraintRecord, Mode } from '../../core/capsule/model.js'
import { jsonDigest } from '../../core/json/build.js'
import type { Plain } from '../../core/json/value.js'
import type { Args } from '../../core/manifest/route/read-result.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { CedarValue, PolicyDecision, PolicyRequest } from '../../ports/policy.js'
import type { Approval } from '../../ports/state.js'
import { replayOf } from '../answer/replay.js'
import { closing, findItem } from '../approval/find.js'
import { findStanding } from '../approval/standing.js'
import type { Authorized, Constrained, Item, Parts, World } from '../context.js'
import { advance } from './advance.js'
import { withoutPending } from './constrain.js'
import { type Exit, type Refused, refuse, type Tell } from './exit.js'

export const CEDAR_RECORD = 'dev.capsulegate.cedar'

/** The caller's values, not the engine, are at fault: too large, or finer than policy can compare exactly. */
const UNCOMPARABLE: ReadonlySet<string> = new Set(['args_invalid', 'args_too_large'])

/**
 * Cedar decides, schema-checked, with `context.approval.granted` as the grant says. A stored answer
 * for the same key and request is found first: it needs no new approval, but what policy denies by now
 * is not handed out again. Where a human would have to be asked, a standing grant may stand in, and Cedar decides again.
 */
export async function authorize(judged: Constrained, parts: Parts): Promise<Authorized | Exit> {
  const keyHash = hashKey(judged, parts)
  const replay = keyHash === null ? null : await replayOf(judged, keyHash, parts)
  if (replay !== null) {
    if (replay.exit === 'refused') return replay
    const decision = decide(judged, false)
    const obeyed = await obey(decision, withDecision(judged, decision, parts), null, parts)
    return 'exit' in obeyed ? obeyed : replay
  }

  const found = await findItem(judged, parts)
  if ('exit' in found) return found
  let item: Item = found
  const constrained = underDigestOf(item, judged, parts)
  let decision = decide(constrained, item.kind === 'granted')
  if (item.kind !== 'granted' && asks(constrained, decision)) {
    const asked = item.kind === 'open' ? item.approval : null
    const standing = await findStanding(constrained, asked, parts)
    if (standing !== null) {
      item = standing
      decision = decide(constrained, true)
    }
  }
  const known = withDecision(constrained, decision, parts)
  const obeyed = await obey(decision, known, approvalOf(item), parts)
  return 'exit' in obeyed ? obeyed : advance(known, { decision: obeyed, keyHash, item })
}

/** Leaves where policy denies or fails; what it would ask a human passes. Denials are only told in observe mode. */
async function obey(
  decision: PolicyDecision,
  known: Constrained,
  approval: Approval | null,
  parts: Parts,
): Promise<Authorized['decision'] | Refused> {
  if (decision.kind === 'error' && UNCOMPARABLE.has(decision.errorClass)) {
    return refuse(
      withoutPending(known),
      'arguments_invalid',
      { observed: decision.errorClass },
      { fault: decision.detail },
    )
  }
  if (decision.kind === 'error') {
    parts.report({
      level: 'error',
      event: 'policy_error',
      actionId: known.actionId,
      detail: decision.detail,
    })
    return refuse(withoutPending(known), 'policy_error', { observed: decision.errorClass })
  }
  if (decision.kind === 'deny' && known.mode === 'enforce') {
    const all = withoutPending(known)
    // What policy now denies nobody can approve any more: the item ends with this call.
    return refuse(
      approval === null ? all : await closing(all, approval, parts),
      'policy_denied',
      { policy_ids: decision.policies },
      ownWords(decision, parts),
    )
  }
  return decision
}

/** The operator's `@reason` of the policies that denied; never their text or ids (DESIGN §7). */
export const ownWords = (
  { reason }: Extract<PolicyDecision, { kind: 'deny' }>,
  { denyDetail }: Parts,
): Tell => (reason === null || denyDetail === 'code' ? {} : { deny_message: reason })

/** An item from before an upgrade has the older digest: grant, claims and records go on under that one. */
function underDigestOf(item: Item, constrained: Constrained, parts: Parts): Constrained {
  const { requestDigest } = approvalOf(item) ?? constrained
  if (requestDigest === constrained.requestDigest) return constrained
  const older = olderDigests(constrained, parts)
  return advance(constrained, older.find((each) => each.requestDigest === requestDigest) ?? {})
}

/** Whether a human would have to be asked; in observe mode nobody is. */
export const asks = (known: Constrained, decision: PolicyDecision): boolean =>
  known.mode === 'enforce' && (decision.kind === 'ask' || known.asking.length > 0)

export function approvalOf(item: Item): Approval | null {
  switch (item.kind) {
    case 'none':
      return null
    case 'open':
    case 'granted':
      return item.approval
    case 'standing':
      return item.asked
  }
}

function decide(constrained: Constrained, granted: boolean): PolicyDecision {
  const { rule, agent, world } = constrained
  return world.policy.decide({
    principal: agent.agent,
    roles: agent.roles,
    developer: agent.developer,
    action: rule.action,
    resource: rule.resource,
    irreversibility: rule.effect.irreversibility_class,
    args: policyArgs(constrained.args),
    approval: { granted },
  })
}

function withDecision(known: Constrained, decision: PolicyDecision, parts: Parts): Constrained {
  const { entry, part } = cedarRecord(decision, known.mode, known.world, parts)
  return advance(known, {
    records: [...known.records, entry],
    evidence: [...known.evidence, part],
  })
}

/** Cedar's decision is itself a Constraint Record, bound to the full request it saw (DESIGN §5). */
export function cedarRecord(
  decision: PolicyDecision,
  mode: Mode,
  world: World,
  parts: Parts,
): { readonly entry: ConstraintRecord; readonly part: EvidencePart } {
  const value = decisionEvidence(world, decision, parts)
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

function decisionEvidence(world: World, decision: PolicyDecision, { ids }: Parts): Plain {
  const policy_digest = world.policy.digest
  const salt = hex(ids.random(16))
  const { kind, request } = decision
  return kind === 'error'
    ? {
        constraint: CEDAR_RECORD,
        decision: kind,
        error: decision.errorClass,
        policy_digest,
        request,
        salt,
      }
    : {
        constraint: CEDAR_RECORD,
        decision: kind,
        observed: decision.observed,
        policies: decision.policies,
        policy_digest,
        request,
        salt,
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

/** Keys are the caller's text: only their digest is kept. */
function hashKey({ call }: Constrained, { crypto }: Parts): string | null {
  return call.idempotencyKey === null ? null : hex(crypto.sha256(utf8(call.idempotencyKey)))
}
