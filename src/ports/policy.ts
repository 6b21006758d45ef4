import type { Plain } from '../core/json/value.js'

/** Values for Cedar, built by the gate from typed arguments: never an agent's own `__entity` or `__extn`. */
export type CedarValue =
  | string
  | boolean
  | number
  | { readonly __extn: { readonly fn: string; readonly arg: string } }
  | readonly CedarValue[]
  | { readonly [name: string]: CedarValue }

export type PolicyRequest = {
  readonly principal: string
  readonly roles: readonly string[]
  readonly developer: string
  readonly action: string
  readonly resource: string
  readonly irreversibility: string
  readonly args: { readonly [name: string]: CedarValue }
  readonly approval: { readonly granted: boolean }
  /** What the agent declared (seed intent-declaration-primitive-01 §5.4); absent where nothing was. */
  readonly idp?: PolicyIntent
  /** Absent where no mandate was shown. */
  readonly mandate?: PolicyMandate
}
/** Null: the declaration has no such member. Never a stub of a thin one: policies must not be satisfied by it. */
export type PolicyIntent = {
  readonly profile: 'IDP_STANDARD' | 'IDP_THIN'
  readonly reasoning_type: string | null
  /** A decimal of at most four digits behind the point. */
  readonly confidence_level: string | null
  readonly hem_urgency: string | null
  readonly goal_id: string | null
  readonly mission_ref: string | null
}
export type PolicyMandate = {
  readonly id: string
  readonly issuer: string
  readonly mission_ref: string | null
  /** How many principals stand in its delegation chain. */
  readonly depth: number
}
/** All that a policy's head can ask about. */
export type PolicyScopeRequest = Pick<PolicyRequest, 'principal' | 'roles' | 'action' | 'resource'>
type Judged = {
  readonly policies: readonly string[]
  readonly observed: readonly ObservedPolicy[]
  readonly request: Plain
}
export type PolicyDecision =
  | (Judged & { readonly kind: 'permit' })
  | (Judged & { readonly kind: 'deny'; readonly reason: string | null })
  /** Denied only by policies that ask for a human, and an approval would lift it (what-if run). */
  | (Judged & { readonly kind: 'ask'; readonly reason: string | null })
  | {
      readonly kind: 'error'
      readonly errorClass: string
      readonly detail: string
      readonly request: Plain
    }
/** A policy in observe mode that would have changed the decision. */
export type ObservedPolicy = { readonly id: string; readonly would: 'permit' | 'deny' | 'ask' }

export type PolicyEngine = {
  /** SHA-256 over the loaded set, hex; changes exactly when the set does. */
  readonly digest: string
  readonly policyIds: readonly string[]
  /** MUST return an error value, never permit, when any policy errored or the schema was not applied. MUST NOT throw. */
  decide(request: PolicyRequest): PolicyDecision
  /**
   * Whether the heads of the enforced policies leave a way for such a call: what lists of tools are filtered by. MUST be
   * true wherever `decide` permits or asks for some arguments; may be true for calls that conditions then deny.
   */
  mayPermit(asked: PolicyScopeRequest): boolean
}
