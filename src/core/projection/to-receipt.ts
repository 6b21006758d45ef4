import type { Octets } from '../capsule/model.js'
import { type Act, authorityOf, type Outcome, outcomeOf } from './act.js'

/** An action of CapSeal, before its place in a chain. */
export type CapSealAction = {
  readonly action_id: string
  readonly action_type: 'tool_call'
  /** Empty, like the next two, where the gate does not know it. */
  readonly instruction_hash: string
  readonly input_hash: string
  readonly output_hash: string
  /** The gate has no model of risk. */
  readonly gate_score: null
  readonly gate_decision: 'pass' | 'skip' | 'human_review' | 'human_approved' | 'skipped'
  readonly policy_verdict: 'POLICY_ENFORCED' | null
  readonly success: boolean
  readonly duration_ms: number
  readonly timestamp: string
  readonly metadata: { readonly [name: string]: string | null }
}

export function capsealAction(act: Act): CapSealAction {
  const { capsule, agent, tool } = act
  const { effect, timestamp, disposition } = capsule
  const outcome = outcomeOf(capsule)
  const isJudged = disposition.verdict_class !== 'engine_failure'
  const enforces = capsule['dev.capsulegate.mode'] === 'enforce' && isJudged
  return {
    action_id: `aac:${capsule.capsule_id}`,
    action_type: 'tool_call',
    instruction_hash: '',
    input_hash: hashOf(effect?.['dev.capsulegate.request_octets']),
    output_hash: hashOf(effect?.['dev.capsulegate.response_octets']),
    gate_score: null,
    gate_decision: decisionOf(act, outcome),
    policy_verdict: enforces ? 'POLICY_ENFORCED' : null,
    success: outcome === 'confirmed',
    duration_ms: 0,
    timestamp,
    metadata: {
      action_id: capsule.action_id,
      operator: capsule.operator,
      agent,
      tool,
      verdict_class: disposition.verdict_class,
    },
  }
}

/** A digest under a key of the tenant's is no hash of the octets. */
const hashOf = (octets: Octets | undefined): string =>
  octets?.alg === 'sha-256' ? octets.digest : ''

function decisionOf({ capsule }: Act, outcome: Outcome): CapSealAction['gate_decision'] {
  const { verdict_class, decision } = capsule.disposition
  // What a runtime did without leave was sent, and nobody had passed it.
  if (decision === 'accept' && outcome !== 'stopped') {
    return authorityOf(capsule) === 'human_approved' ? 'human_approved' : 'pass'
  }
  if (outcome === 'waiting') return 'human_review'
  return verdict_class === 'expired' ? 'skipped' : 'skip'
}
