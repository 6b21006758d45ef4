import type { ConstraintRecord } from '../core/capsule/model.js'
import { hex } from '../core/hex.js'
import { jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import type { Args } from '../core/manifest/read-args.js'
import { utf8 } from '../core/text.js'
import type { CedarValue, EvidencePart, PolicyDecision, PolicyRequest } from '../ports.js'
import { withoutPending } from './constrain.js'
import { Exit } from './exit.js'
import { replayOf } from './replay.js'
import type { Authorized, Constrained, Parts } from './stage.js'

export const CEDAR_RECORD = 'dev.capsulegate.cedar'

/** The caller's values, not the engine, are at fault: too large, or finer than policy can compare exactly. */
const UNCOMPARABLE: ReadonlySet<string> = new Set(['args_invalid', 'args_too_large'])

/**
 * Cedar decides, schema-checked, with `context.approval.granted` as the grant says. A stored answer
 * for the same key and request is found first: it needs neither a new decision nor a new approval.
 */
export async function authorize(
  constrained: Constrained,
  grant: { readonly granted: boolean },
  parts: Parts,
): Promise<Authorized> {
  const keyHash = hashKey(constrained, parts)
  if (keyHash !== null) await replayOf(constrained, keyHash, parts)

  const { rule, agent, world } = constrained
  const decision = world.policy.decide({
    principal: agent.agent,
    roles: agent.roles,
    developer: agent.developer,
    action: rule.action,
    resource: rule.resource,
    irreversibility: rule.effect.irreversibility_class,
    args: policyArgs(constrained.args),
    approval: { granted: grant.granted },
  })
  const judged = withDecision(constrained, decision, parts)
  const known = { ...constrained, ...judged }
  if (decision.kind === 'error' && UNCOMPARABLE.has(decision.errorClass)) {
    throw new Exit(
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
    throw new Exit(withoutPending(known), 'policy_error', { observed: decision.errorClass })
  }
  if (decision.kind === 'deny' && known.mode === 'enforce') {
    throw new Exit(withoutPending(known), 'policy_denied', { policy_ids: decision.policies })
  }
  return { ...known, decision, keyHash }
}

/** Cedar's decision is itself a Constraint Record, bound to the full request it saw (DESIGN §5). */
function withDecision(
  known: Constrained,
  decision: PolicyDecision,
  parts: Parts,
): { records: readonly ConstraintRecord[]; evidence: readonly EvidencePart[] } {
  const evidence: Plain = {
    constraint: CEDAR_RECORD,
    policy_digest: known.world.policy.digest,
    request: decision.request,
    decision: decision.kind,
    ...(decision.kind === 'error'
      ? { error: decision.errorClass }
      : { policies: decision.policies, observed: decision.observed }),
    salt: hex(parts.ids.random(16)),
  }
  const digest = jsonDigest(evidence, parts.crypto)
  const passed = decision.kind === 'permit'
  const record: ConstraintRecord = {
    id: CEDAR_RECORD,
    check_type: 'dev.capsulegate.policy',
    method: 'cedar',
    result: passed ? 'pass' : 'fail',
    severity: 'critical',
    blocking: !passed && (known.mode === 'enforce' || decision.kind === 'error'),
    evidence_digest: digest,
  }
  return {
    records: [...known.records, record],
    evidence: [...known.evidence, { digest, kind: 'cedar', name: CEDAR_RECORD, value: evidence }],
  }
}

/** Exact text for decimals; the engine refuses what it could not compare exactly. */
function policyArgs(args: Args): PolicyRequest['args'] {
  const out: Record<string, CedarValue> = Object.create(null)
  for (const [name, { type, value }] of args) out[name] = type === 'integer' ? Number(value) : value
  return out
}

/** Keys are the caller's text: only their digest is kept. */
function hashKey({ call }: Constrained, { crypto }: Parts): string | null {
  return call.idempotencyKey === null ? null : hex(crypto.sha256(utf8(call.idempotencyKey)))
}
