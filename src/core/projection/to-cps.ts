import type { Capsule } from '../capsule/model.js'
import type { CpsParts } from '../cps/build.js'
import { type Act, authorityOf, type Outcome, outcomeOf } from './act.js'

/** A capsule but for its place in a chain. */
export type CpsContent = Omit<CpsParts, 'sequence' | 'previous_hash'>

const STATUS = {
  confirmed: 'success',
  failed: 'failure',
  unconfirmed: 'pending',
  waiting: 'pending',
  stopped: 'blocked',
} as const satisfies Record<Outcome, string>

/**
 * An act as a capsule of the Capsule Protocol: what the gate knows of it, in public form. Arguments and results are
 * digests; reasoning, model and durations are not known to the gate, and stay empty.
 */
export function cpsContent(act: Act): CpsContent {
  const { capsule, agent, tool, manifestId, sessionId } = act
  const { capsule_id, chain, timestamp, action_id } = capsule
  const outcome = outcomeOf(capsule)
  const decisionId = capsule['dev.capsulegate.decision_id'] ?? action_id
  return {
    id: uuidOf(capsule_id),
    type: 'tool',
    domain: manifestId ?? 'agents',
    parent_id: chain === undefined ? null : uuidOf(chain.parent_capsule_id),
    trigger: {
      type: 'agent',
      source: agent,
      timestamp,
      request: tool ?? '',
      correlation_id: decisionId,
    },
    context: {
      agent_id: agent,
      session_id: sessionId,
      environment: environmentOf(capsule),
    },
    authority: authority(capsule),
    execution: { tool_calls: toolCalls(act, outcome) },
    outcome: {
      status: STATUS[outcome],
      result: resultOf(capsule),
      summary: `${tool ?? 'call'}: ${capsule.disposition.verdict_class}, ${outcome}`,
      error: errorOf(capsule, outcome),
      side_effects: outcome === 'confirmed' ? [capsule.effect?.type ?? ''] : [],
    },
  }
}

/** The form of a UUID of version 4, made of the first 16 octets of an id: the id itself stands in the environment. */
export function uuidOf(capsuleId: string): string {
  const variant = ((Number.parseInt(capsuleId.slice(16, 17), 16) & 3) | 8).toString(16)
  const digits = `${capsuleId.slice(0, 12)}4${capsuleId.slice(13, 16)}${variant}${capsuleId.slice(17, 32)}`
  return [8, 12, 16, 20, 32].map((to, i, all) => digits.slice(all[i - 1] ?? 0, to)).join('-')
}

const environmentOf = (capsule: Capsule) => ({
  aac_capsule_id: capsule.capsule_id,
  aac_action_id: capsule.action_id,
  operator: capsule.operator,
  developer: capsule.developer,
  mode: capsule['dev.capsulegate.mode'] ?? null,
  manifest_digest: capsule['dev.capsulegate.manifest_digest'] ?? null,
  policy_digest: capsule['dev.capsulegate.policy_digest'] ?? null,
  intent_ref: capsule['dev.capsulegate.intent_ref'] ?? null,
  recovered: capsule['dev.capsulegate.recovered'] !== undefined,
})

function authority(capsule: Capsule): CpsContent['authority'] & object {
  const type = authorityOf(capsule)
  const { disposition, constraints = [] } = capsule
  const digest = capsule['dev.capsulegate.policy_digest']
  const refused = disposition.human_disposed && disposition.decision === 'reject'
  return {
    type,
    // Who approved is private (docs/other-capsules.md).
    approver: null,
    policy_reference: type === 'policy' && digest !== undefined ? `sha-256:${digest}` : null,
    chain: [
      ...constraints.map(({ id, result, blocking, evidence_digest }, index) => ({
        level: index + 1,
        actor: 'gate',
        decision: result,
        blocking,
        constraint: id,
        evidence_digest: evidence_digest ?? null,
      })),
      ...(refused ? [{ level: constraints.length + 1, actor: 'human', decision: 'denied' }] : []),
    ],
    escalation_reason: type === 'escalated' ? disposition.verdict_class : null,
  }
}

/** Only of what was sent. */
function toolCalls({ capsule: { effect }, tool }: Act, outcome: Outcome) {
  if (effect === undefined || outcome === 'stopped' || outcome === 'waiting') return []
  const { request_digest, response_digest } = effect
  return [
    {
      tool: tool ?? effect.type,
      arguments: request_digest === undefined ? {} : { $sha256: request_digest },
      result: response_digest === undefined ? null : { $sha256: response_digest },
      success: outcome === 'confirmed',
      error: outcome === 'confirmed' ? null : outcome,
    },
  ]
}

const resultOf = ({ disposition, assurance, effect }: Capsule) => ({
  verdict_class: disposition.verdict_class,
  decision: disposition.decision,
  approver: disposition.approver,
  human_disposed: disposition.human_disposed,
  effect_mode: assurance.effect_mode,
  effect_attestation: effect?.effect_attestation ?? null,
  effect_status: effect?.status ?? null,
  irreversibility_class: effect?.irreversibility_class ?? null,
})

function errorOf({ disposition }: Capsule, outcome: Outcome): string | null {
  switch (outcome) {
    case 'confirmed':
    case 'waiting':
      return null
    case 'failed':
      return 'the tool answered with a failure'
    case 'unconfirmed':
      return 'it was sent, and what became of it was not seen'
    case 'stopped':
      return disposition.verdict_class
  }
}
