import type { Hashing } from '../crypto/crypto.js'
import { assemble } from './build.js'
import { answered } from './effect.js'
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
  const claimed = {
    type: effect.type,
    irreversibility_class: effect.irreversibility_class,
    request_digest: effect.request_digest,
    'dev.capsulegate.request_octets': effect.request_octets,
    effect_attestation: 'runtime_claimed',
  } as const
  switch (outcome.status) {
    case 'completed':
      return { ...claimed, status: 'dispatched' }
    case 'failed':
    case 'reverted':
      return {
        ...claimed,
        status: outcome.status,
        ...(outcome.resultDigest === undefined ? {} : { response_digest: outcome.resultDigest }),
      }
  }
}
