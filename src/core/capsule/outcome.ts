import type { Hashing } from '../crypto/crypto.js'
import { assemble } from './build.js'
import { answered, claimed, dispatched } from './effect.js'
import type { EffectMeta, Identity } from './input.js'
import type { Capsule, Effect } from './model.js'
import type { ObservedResponse } from './observation.js'

/**
 * A consequence seen later (seed §3.3): its own capsule with its own action_id, which names the capsule
 * it is about and changes nothing in it. The statement keeps the original action's `sub`.
 */
export type OutcomeInput = {
  readonly identity: Omit<Identity, 'action_type'>
  /** The original's own members: its capsule_id, decision_id and the effect it is about. */
  readonly original: {
    readonly capsule_id: string
    readonly decision_id: string
    readonly effect: EffectMeta
  }
  readonly outcome: Outcome
  /** The join key to the outside world (seed §5.2). */
  readonly external_ref: string
}

export type Outcome =
  /** The gate read the answer itself, by asking the upstream again. */
  | {
      readonly kind: 'observed'
      readonly response: ObservedResponse
      readonly status: 'confirmed' | 'failed' | 'reverted'
    }
  /** A runtime or a counterparty said so. `completed` stays dispatched: a word is no observation. */
  | {
      readonly kind: 'claimed'
      readonly status: 'completed' | 'failed' | 'reverted'
      readonly resultDigest?: string
    }

export function buildOutcome(input: OutcomeInput, crypto: Hashing): Capsule {
  const { identity, original, outcome, external_ref } = input
  return assemble(
    {
      identity: { ...identity, action_type: 'fyi' },
      effect: { ...effectOf(original.effect, outcome), external_ref },
      disposition: {
        decision: 'accept',
        approver: 'policy',
        human_disposed: false,
        verdict_class: 'executed',
      },
      constraints: [],
      extensions: {
        'dev.capsulegate.outcome_of': original.capsule_id,
        'dev.capsulegate.decision_id': original.decision_id,
      },
      supersedes: undefined,
    },
    crypto,
  )
}

function effectOf(effect: EffectMeta, outcome: Outcome): Effect {
  if (outcome.kind === 'observed') return answered(effect, outcome.response, outcome.status)
  return outcome.status === 'completed'
    ? dispatched(effect, 'runtime_claimed')
    : claimed(effect, outcome.status, outcome.resultDigest)
}
