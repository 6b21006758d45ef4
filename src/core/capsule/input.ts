import type { HumanDecision } from './human.js'
import type { Capsule, ConstraintRecord, ExpiryPolicy, Extensions, Octets } from './model.js'
import type { Observation } from './observation.js'
import type { IrreversibilityClass, NeverDispatch } from './registries.js'

/**
 * What a capsule is built from. The shapes leave no room for a dishonest record: no member here says
 * `confirmed`, `human_disposed`, `effect_mode` or `effect_attestation`; they follow from what happened.
 */
export type CapsuleInput = {
  readonly identity: Identity
  readonly verdict: Verdict
  readonly constraints: readonly ConstraintRecord[]
  readonly extensions: CallerExtensions
  readonly chain?: { readonly supersedes: string }
}

export type Identity = Pick<
  Capsule,
  'action_id' | 'action_type' | 'operator' | 'developer' | 'timestamp'
>

/** `recovered` and `outcome_of` follow from the kind of record, so no caller sets them. */
export type CallerExtensions = Omit<
  Extensions,
  'dev.capsulegate.recovered' | 'dev.capsulegate.outcome_of'
>

export type Verdict = Refused | Disposed | TimedOut | Ran | Recovered | Ungated

/** Policy stopped it. The decision follows from the class; `deferred` is a human's word (seed §5.4.1). */
export type Refused = {
  readonly kind: 'refused'
  readonly verdict_class: Exclude<NeverDispatch, 'deferred'>
  readonly reason_digest?: string
  /** The machine that decided, where one did (seed §5.4). */
  readonly authority?: string
}

/** A person closed or postponed an open item; deny, withdraw and resume give `resolved`, defer `deferred`. */
export type Disposed = {
  readonly kind: 'disposed'
  readonly decision: HumanDecision
  readonly reason_digest?: string
  /** Deferrals only (seed §5.4). */
  readonly expiry_policy?: ExpiryPolicy
}

/** A deadline passed and nothing had been sent. */
export type TimedOut = { readonly kind: 'timed_out'; readonly reason_digest?: string }

/** At least one byte left: what is known of the effect is what was observed. */
export type Ran = {
  readonly kind: 'ran'
  readonly by: By
  readonly effect: EffectMeta
  readonly reason_digest?: string
} & (
  | {
      readonly observation: Extract<Observation, { kind: 'complete' | 'claimed' | 'unfinished' }>
      readonly verdict_class: 'executed' | 'errored'
    }
  | {
      readonly observation: Extract<Observation, { kind: 'sent' }>
      readonly verdict_class: 'errored' | 'timeout'
    }
)

/**
 * Found after a crash: a dispatch line without a conclusion (promise 2). Without the evidence that was kept
 * before it was sent, on whose word it ran and what was judged cannot be claimed.
 */
export type Recovered = {
  readonly kind: 'recovered'
  readonly effect: EffectMeta
} & (
  | { readonly evidence: 'present'; readonly by: By }
  | { readonly evidence: 'missing'; readonly by?: never }
)

/**
 * A runtime reported an act that no permit covers. The gate did not let it run and could not stop it: nothing
 * is accepted here, and all that is known of the effect is the runtime's word.
 */
export type Ungated = {
  readonly kind: 'ungated'
  readonly effect: EffectMeta
  readonly reason_digest: string
}

/** Who let it run. A standing grant is still policy: it names its authority and no person (promise 4). */
export type By =
  | { readonly kind: 'policy' }
  | { readonly kind: 'grant'; readonly authority: string }
  | { readonly kind: 'human'; readonly decision: HumanDecision }

export type EffectMeta = {
  readonly type: string
  readonly irreversibility_class: IrreversibilityClass
  readonly request_digest: string
  readonly request_octets: Octets
  readonly external_ref?: string
  /** Who acts where it is not the gate: then all that is recorded of the effect is a runtime's word. */
  readonly acts?: 'runtime'
}
