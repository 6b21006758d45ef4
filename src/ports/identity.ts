import type { Agent } from '../core/call/agent.js'
import type { Caller } from '../core/call/call.js'
import type { Mandate } from '../core/intent/model.js'

export type Identified = Agent | { readonly kind: 'unknown'; readonly why: string }

export type Identity = {
  /** MUST return `unknown`, never throw, for anything it cannot prove. */
  identify(caller: Caller): Promise<Identified> | Identified
  /**
   * Whether this agent would still be let in with all the roles it had: MUST be false once one of its
   * credentials was revoked or names another agent, or, where it has none, once no token or certificate
   * names it. MUST NOT throw or wait: it is asked just before the first byte of a call leaves.
   */
  isStillKnown(agent: Agent): boolean
}

export type MandateRead =
  | { readonly kind: 'valid'; readonly mandate: Mandate }
  /** `why` is a short code for the private record: `expired`, `signature`, `proof_missing`. */
  | { readonly kind: 'invalid'; readonly why: string }
  /** Its keys cannot be had now. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** The credential that binds an agent to one object and its actions (seed intent-declaration-primitive-01 §2). */
export type Mandates = {
  /** Whether a bearer token says that it is from an issuer of mandates; nothing is verified. */
  isOne(bearer: string): boolean
  /**
   * MUST verify signature, issuer, audience, times and every member a declaration is compared with, and the proof
   * of possession where the mandate asks for one. MUST NOT throw.
   */
  read(token: string, caller: Caller): Promise<MandateRead>
  /** Whether it would still be accepted: its issuer and its time. MUST NOT throw or wait. */
  isStillGood(mandate: Pick<Mandate, 'issuer' | 'expiresAt'>): boolean
}
