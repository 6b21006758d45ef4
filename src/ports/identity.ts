import type { Agent } from '../core/call/agent.js'
import type { Caller } from '../core/call/call.js'

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
