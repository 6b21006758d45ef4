import type { Agent } from '../../core/call/agent.js'
import type { Call } from '../../core/call/call.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { PolicyRequest } from '../../ports/policy.js'
import type { Known, Parts } from '../context.js'
import { findAction } from '../find-action.js'
import { CEDAR_RECORD, cedarRecord, denyDetails } from '../govern/authorize.js'
import { begin } from '../govern/begin.js'
import { record } from '../govern/conclude.js'
import { type Refused, refuse } from '../govern/exit.js'
import { modeOf } from '../govern/match.js'
import { haltFor } from '../operate/halt.js'
import type { Answer } from './answer.js'
import { responseIn } from './replay.js'

export type Collectable = { readonly actionId: string; readonly capsuleId: string }

/**
 * Gives an action's kept response to its own agent again, under the halts and policies of now: what policy
 * denies is refused with a capsule, what it would ask a human passes. Null: no response is kept. It is
 * refused too where the evidence of the policy request is gone, because policy cannot be asked again.
 */
export async function collect(
  call: Call,
  agent: Agent,
  { actionId, capsuleId }: Collectable,
  parts: Parts,
): Promise<Answer | null> {
  const [lines, found] = await Promise.all([
    findAction(actionId, parts),
    parts.evidence.byAction(actionId),
  ])
  const tool = lines?.dispatched?.tool
  const response = found.state === 'present' ? responseIn(found.value) : null
  if (tool === undefined || found.state !== 'present' || response === null) return null
  const refused = judgeAgain(begin(call, agent, parts), tool, found.value, agent, parts)
  return refused === null
    ? { kind: 'replayed', caller: agent, actionId, capsuleId, response }
    : record(refused, parts)
}

/** Null: the response may be given. */
function judgeAgain(
  begun: Known,
  tool: string,
  evidence: readonly EvidencePart[],
  agent: Agent,
  parts: Parts,
): Refused | null {
  const { world, actionId } = begun
  if (!parts.identity.isStillKnown(agent)) {
    return refuse(begun, 'unauthenticated', { observed: 'agent_gone' })
  }
  const halt = haltFor(parts.halts(), { agent: agent.agent, tool, operator: world.operator })
  if (halt !== null) return refuse(begun, 'halted', { observed: { ...halt } })
  const request = askedBefore(evidence, agent)
  if (request === null) return refuse(begun, 'policy_denied', { observed: 'evidence_gone' })
  const decision = world.policy.decide(request)
  const loaded = world.manifests.find(({ manifest }) =>
    manifest.rules.some((rule) => rule.tool === tool),
  )
  const mode = modeOf(world, loaded?.manifest)
  const denied = decision.kind === 'deny' && mode === 'enforce'
  if (decision.kind !== 'error' && !denied) return null
  const { entry, part } = cedarRecord(decision, mode, world, parts)
  const known: Known = { ...begun, mode, records: [entry], evidence: [part] }
  if (decision.kind === 'error') {
    const { detail, errorClass } = decision
    parts.report({ level: 'error', event: 'policy_error', actionId, detail })
    return refuse(known, 'policy_error', { observed: errorClass })
  }
  const reason = { policy_ids: decision.policies }
  return refuse(known, 'policy_denied', reason, denyDetails(decision, parts))
}

/** What policy was asked about this action, with its agent as it is now and without an approval. */
function askedBefore(
  parts: readonly EvidencePart[],
  { agent, roles, developer }: Agent,
): PolicyRequest | null {
  const part = parts.find(({ kind, name }) => kind === 'cedar' && name === CEDAR_RECORD)
  const request = member(part?.value, 'request')
  const principal = member(member(request, 'principal'), 'id')
  const action = member(member(request, 'action'), 'id')
  const resource = member(member(request, 'resource'), 'id')
  const args = member(member(request, 'context'), 'args')
  const entities = member(request, 'entities')
  const tool = Array.isArray(entities)
    ? entities.find((entity) => member(member(entity, 'uid'), 'type') === 'Tool')
    : undefined
  const irreversibility = member(member(tool, 'attrs'), 'irreversibility')
  if (
    principal !== agent ||
    typeof action !== 'string' ||
    typeof resource !== 'string' ||
    typeof irreversibility !== 'string' ||
    typeof args !== 'object'
  ) {
    return null
  }
  return {
    principal: agent,
    roles,
    developer,
    action,
    resource,
    irreversibility,
    args: args as PolicyRequest['args'],
    approval: { granted: false },
  }
}

const member = (value: Plain | undefined, name: string): Plain | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: Plain })[name]
    : undefined
