import type { Agent } from '../../core/call/agent.js'
import type { Call } from '../../core/call/call.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Known, Parts } from '../context.js'
import { quotesRestricted } from '../evidence/restricted.js'
import { findAction } from '../find-action.js'
import { cedarRecord, denyDetails } from '../govern/authorize.js'
import { begin } from '../govern/begin.js'
import { record } from '../govern/conclude.js'
import { type Refused, refuse } from '../govern/exit.js'
import { modeOf } from '../govern/match.js'
import { haltFor } from '../operate/halt.js'
import type { Answer } from './answer.js'
import { askedBefore } from './asked-before.js'
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
  const { tool, intent } = lines?.dispatched ?? {}
  const response = found.state === 'present' ? responseIn(found.value) : null
  if (tool === undefined || found.state !== 'present' || response === null) return null
  const of = { tool, ...(intent === undefined ? {} : { sessionId: intent.session_id }) }
  const refused = judgeAgain(begin(call, agent, parts), of, found.value, agent, parts)
  return refused === null
    ? { kind: 'replayed', caller: agent, actionId, capsuleId, response }
    : record(refused, parts)
}

/** Null: the response may be given. */
function judgeAgain(
  begun: Known,
  of: { readonly tool: string; readonly sessionId?: string },
  evidence: readonly EvidencePart[],
  agent: Agent,
  parts: Parts,
): Refused | null {
  const { world, actionId } = begun
  if (!parts.identity.isStillKnown(agent)) {
    return refuse(begun, 'unauthenticated', { observed: 'agent_gone' })
  }
  const { tool } = of
  const halt = haltFor(parts.halts(), { ...of, agent: agent.agent, operator: world.operator })
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
  const { entry, part } = cedarRecord(
    decision,
    { mode, world },
    parts,
    evidence.some(quotesRestricted),
  )
  const known: Known = { ...begun, mode, records: [entry], evidence: [part] }
  if (decision.kind === 'error') {
    const { detail, errorClass } = decision
    parts.report({ level: 'error', event: 'policy_error', actionId, detail })
    return refuse(known, 'policy_error', { observed: errorClass })
  }
  const reason = { policy_ids: decision.policies }
  return refuse(known, 'policy_denied', reason, denyDetails(decision, parts))
}
