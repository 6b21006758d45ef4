import type {
  ChainRelation,
  DispositionDecision,
  EffectAttestation,
  IrreversibilityClass,
  VerdictClass,
} from './registries.js'

/** The capsule of draft -01 as this gate writes it: wire names, seed §5, plus our namespaced members. */
export const SPEC_VERSION = 'draft-mih-scitt-agent-action-capsule-01'
export const FORMAT_VERSION = '2'

export type EffectStatus = 'planned' | 'dispatched' | 'confirmed' | 'failed' | 'reverted'
export type EffectMode = 'not_applicable' | 'dispatched_unconfirmed' | 'confirmed'
export type AttestationMode = 'self_attested' | 'anchored'
export type LedgerMode = 'standalone' | 'chained' | 'anchored'

/** Exact octets of a message body: after chunking is removed, before any content coding is. */
export type Octets = {
  /** `hmac-sha-256`: under a key of the tenant's, for tools with `digest_salt: tenant` (seed §13). */
  readonly alg: 'sha-256' | 'hmac-sha-256'
  readonly digest: string
  readonly length: number
  readonly content_type?: string
  readonly content_encoding?: string
  readonly status?: number
  readonly complete?: true
}

export type ResponseBinding = 'json' | 'octets' | 'octets-salted'

export type Effect = {
  readonly type: string
  readonly status: EffectStatus
  readonly irreversibility_class: IrreversibilityClass
  readonly effect_attestation?: EffectAttestation
  readonly request_digest?: string
  readonly response_digest?: string
  readonly external_ref?: string
  readonly 'dev.capsulegate.request_octets'?: Octets
  readonly 'dev.capsulegate.response_octets'?: Octets
  readonly 'dev.capsulegate.response_binding'?: ResponseBinding
}

export type Assurance = {
  readonly attestation_mode: AttestationMode
  readonly effect_mode: EffectMode
  readonly ledger_mode: LedgerMode
}

export type ExpiryPolicy = {
  readonly ttl_seconds: number
  readonly on_expiry: 'expired' | 'escalated'
}

export type Disposition = {
  readonly decision: DispositionDecision
  readonly approver: 'human' | 'policy'
  readonly human_disposed: boolean
  readonly verdict_class: VerdictClass
  readonly authority?: string
  readonly reason_digest?: string
  readonly expiry_policy?: ExpiryPolicy
}

/** Seed §8.1: categories and a digest only; what the check looked at stays in the evidence store. */
export type ConstraintRecord = {
  readonly id: string
  readonly result: 'pass' | 'fail' | 'n/a'
  readonly severity: 'low' | 'medium' | 'high' | 'critical'
  readonly blocking: boolean
  readonly check_type?: string
  readonly method?: string
  readonly evidence_digest?: string
}

export type Chain = { readonly parent_capsule_id: string; readonly relation: ChainRelation }

export type Mode = 'enforce' | 'observe'

/** Our namespaced top-level members, exactly these (DESIGN §5). */
export type Extensions = {
  readonly 'dev.capsulegate.manifest_digest'?: string
  readonly 'dev.capsulegate.policy_digest'?: string
  readonly 'dev.capsulegate.mode'?: Mode
  readonly 'dev.capsulegate.decision_id'?: string
  readonly 'dev.capsulegate.intent_ref'?: string
  readonly 'dev.capsulegate.deadline'?: {
    readonly ttl_seconds: number
    readonly on_expiry: 'timeout' | 'expired' | 'escalated'
  }
  readonly 'dev.capsulegate.outcome_of'?: string
  /** Found after a crash; `missing`: no evidence of the dispatch is left, so nothing is claimed of its judgement. */
  readonly 'dev.capsulegate.recovered'?: true | { readonly evidence: 'missing' }
}

export type Capsule = Extensions & {
  readonly spec_version: typeof SPEC_VERSION
  readonly format_version: typeof FORMAT_VERSION
  readonly capsule_id: string
  readonly action_id: string
  readonly action_type: 'fyi' | 'decide'
  readonly operator: string
  readonly developer: string
  readonly timestamp: string
  readonly effect?: Effect
  readonly assurance: Assurance
  readonly disposition: Disposition
  readonly constraints?: readonly ConstraintRecord[]
  readonly chain?: Chain
}
