import type { Call } from '../../core/call/call.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Identified } from '../../ports/identity.js'
import type { PolicyRequest } from '../../ports/policy.js'
import type { Known, Parts } from '../context.js'
import { CEDAR_RECORD, cedarRecord, ownWords } from '../govern/authorize.js'
import { type Reason, refuse, type Tell } from '../govern/exit.js'
import { open } from '../govern/open.js'
import { record } from '../govern/record.js'
import { haltFor } from '../operate/halt.js'
import type { Answer } from './answer.js'
import { storedResponse } from './replay.js'

type Agent = Extract<Identified, { kind: 'known' }>
export type Collectable = { readonly actionId: string; readonly capsuleId: string }

/**
 * Gives an action's kept response to its own agent again, under the halts and policies of now: what
 * policy would put before a human passes, what it denies is refused with a capsule. Null: nothing is
 * kept. Without the evidence of what was asked of policy then, nothing can be asked now: refused.
 */
export async function collect(
  call: Call,
  agent: Agent,
  { actionId, capsuleId }: Collectable,
  parts: Parts,
): Promise<Answer | null> {
  const [lines, found] = await Promise.all([
    parts.journal.find(actionId),
    parts.evidence.byAction(actionId),
  ])
  const dispatched = lines.find((line) => line.type === 'ACTION_DISPATCHED')
  const response = found.state === 'present' ? storedResponse(found.value) : null
  if (dispatched === undefined || found.state !== 'present' || response === null) return null
  const opened = open(call, agent, parts)
  const { world } = opened
  const { tool } = dispatched
  const refused = (
    code: 'halted' | 'policy_denied' | 'policy_error' | 'unauthenticated',
    reason: Reason,
    known: Known = opened,
    tell: Tell = {},
  ): Promise<Answer> => record(refuse(known, code, reason, tell), parts)

  if (!parts.identity.isStillKnown(agent))
    return refused('unauthenticated', { observed: 'agent_gone' })
  const halt = haltFor(parts.halts(), { agent: agent.agent, tool, operator: world.operator })
  if (halt !== null) return refused('halted', { observed: { ...halt } })
  const request = askedBefore(found.value, agent)
  if (request === null) return refused('policy_denied', { observed: 'evidence_gone' })
  const decision = world.policy.decide(request)
  const manifest = world.manifests.find(({ manifest }) =>
    manifest.rules.some((rule) => rule.tool === tool),
  )
  const observing = world.mode === 'observe' || manifest?.manifest.mode === 'observe'
  const mode = observing ? 'observe' : 'enforce'
  if (decision.kind !== 'error' && (decision.kind !== 'deny' || observing))
    return { kind: 'replayed', caller: agent, actionId, capsuleId, response }
  const { entry, part } = cedarRecord(decision, mode, world, parts)
  const known: Known = { ...opened, mode, records: [entry], evidence: [part] }
  if (decision.kind === 'error') {
    const { detail, errorClass } = decision
    parts.report({ level: 'error', event: 'policy_error', actionId: opened.actionId, detail })
    return refused('policy_error', { observed: errorClass }, known)
  }
  const tell = ownWords(decision, parts)
  return refused('policy_denied', { policy_ids: decision.policies }, known, tell)
}

/** What policy was asked about this action, with its agent as it is now and nobody's approval. */
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
