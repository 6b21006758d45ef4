import type { Bounds } from '../../../core/approval/bounds.js'
import type { AssuranceLevel } from '../../../core/approval/deadline.js'
import type { Approval } from '../../../ports/state.js'

/** Who decides, as the caller of `resolve` authenticated them: never taken from a message's body. */
export type Decider =
  | {
      readonly kind: 'person'
      readonly name: string
      readonly roles: readonly string[]
      readonly assurance: AssuranceLevel
      /** How they were authenticated: session, token, passkey, chat. */
      readonly via: string
    }
  /** Decides for policy: recorded with its authority and never as a human (promise 4). */
  | { readonly kind: 'machine'; readonly name: string; readonly roles: readonly string[] }

export type Outcome =
  | { readonly kind: 'approve'; readonly bounds?: Bounds; readonly reason?: string }
  | { readonly kind: 'deny'; readonly reason: string }
  | {
      readonly kind: 'defer'
      readonly ttlSeconds: number
      readonly onExpiry: 'expired' | 'escalated'
      readonly reason?: string
    }

export type Decision = {
  readonly approvalId: string
  /** Of the document the decider was shown. */
  readonly documentDigest: string
  /** The capsule the decider saw as the open one; without it, whichever is open now. */
  readonly on?: string
  readonly decider: Decider
  readonly outcome: Outcome
}

export type Resolution =
  | {
      readonly kind: 'recorded'
      /** The same decider had decided the same before: nothing new was recorded. */
      readonly repeated: boolean
      readonly state: 'pending' | 'approved' | 'refused' | 'deferred' | 'resumed'
      readonly votes: number
      readonly quorum: number
      /** Null where the decision itself writes no capsule (DESIGN §3). */
      readonly capsuleId: string | null
    }
  | {
      readonly kind: 'refused'
      readonly why: Refusal
      readonly detail: string
      /** What the item stands as, where another decision came first. */
      readonly first?: string
    }
export type Refusal =
  | 'unknown'
  | 'frozen'
  | 'digest_mismatch'
  | 'role'
  | 'assurance'
  | 'own_request'
  | 'people_only'
  | 'reason_required'
  | 'already_voted'
  | 'already_decided'
  | 'stale'
  | 'not_refused'
  | 'bounds'
  | 'ttl'
  | 'ladder'
  | 'busy'
  | 'record_unavailable'

export type RefusedDecision = Extract<Resolution, { kind: 'refused' }>

export const refused = (why: Refusal, detail: string, first?: string): RefusedDecision => ({
  kind: 'refused',
  why,
  detail,
  ...(first === undefined ? {} : { first }),
})

/** What a decision on this item is bound to. */
export const assentTo = ({ approvalId, requestDigest, documentDigest }: Approval) => ({
  decisionId: approvalId,
  requestDigest,
  documentDigest,
})

// What bars a decision and the lifting of a refusal alike.
export const UNKNOWN = refused('unknown', 'there is no such request')
export const FROZEN = refused('frozen', 'halted: nothing is decided until an operator resumes')
export const OWN_REQUEST = refused('own_request', 'nobody decides their own request')

export const isOwnRequest = ({ name }: Decider, { agent, developer }: Approval): boolean =>
  name === '' || name === agent || name === developer
