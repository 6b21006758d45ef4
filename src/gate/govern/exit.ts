import type { Intent } from '../../core/intent/model.js'
import type { Plain } from '../../core/json/value.js'
import type { Code, RefusalCode } from '../../core/verdict/table.js'
import type { Dispatched, HeldResponse } from '../../ports/dispatch.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Authorized, Known, Opening, Reserved } from '../context.js'

/** The private reason: codes and values without times or ids, so that two engines digest it alike (seed §5.4). */
export type Reason = {
  readonly constraint?: string
  readonly policy_ids?: readonly string[]
  readonly threshold?: Plain
  readonly observed?: Plain
}
/** Members of the problem document that the caller gets. */
export type Details = { readonly [name: string]: Plain }

/** How a call leaves the pipeline before it is dispatched. */
export type Exit = Refused | Asked | Joined | RefusedBefore | Replayed

export type Refused = {
  readonly exit: 'refused'
  readonly known: Known
  readonly code: Exclude<RefusalCode, 'approval_pending'>
  readonly reason: Reason
  readonly details: Details
  /** Written beside the capsule, and what the refusal stops beside the call. */
  readonly beside?: readonly JournalEntry[]
  readonly escalation?: Escalation
}
/** A person is asked; the call waits as an open item. */
export type Asked = Pick<Refused, 'reason' | 'details'> & {
  readonly exit: 'asked'
  readonly known: Authorized & { readonly opening: Opening; readonly supersedes: string | null }
  readonly code: 'approval_pending'
}
// These three repeat an answer that is on record already: an event each, and no capsule.
/** A person is already asked about exactly this call. */
export type Joined = { readonly exit: 'joined'; readonly known: Known; readonly approval: Approval }
/** A person refused this call, and the refusal stands. */
export type RefusedBefore = Omit<Joined, 'exit'> & { readonly exit: 'refused_before' }
/** The response to the same request under the same Idempotency-Key. */
export type Replayed = {
  readonly exit: 'replayed'
  readonly known: Known
  readonly original: { readonly actionId: string; readonly capsuleId: string }
  readonly response: HeldResponse
}
/** The call reached dispatch; what was observed decides the code. */
export type Sent = {
  readonly exit: 'sent'
  readonly known: Reserved
  readonly code: Code
  readonly dispatched: Dispatched
  /** What was sent, compared with what was declared; null where nothing was declared or sent. */
  readonly commitment: Commitment | null
}

/** Whether the action that was sent is the one declared (seed intent-declaration-primitive-01 §5.5). */
export type Commitment = {
  readonly matched: boolean
  /** `written`: derived from what the gate's adapter wrote; `judged`: somebody else ran the call. */
  readonly basis: 'written' | 'judged'
}
/** A session is stopped until a person has decided. */
export type Escalation = {
  readonly why: 'commitment_gap' | 'mission_mismatches'
  /** The declaration that people are shown. */
  readonly intent: Intent
}

/** What becomes a capsule. */
export type Ending = Refused | Asked | Sent

export const refuse = (
  known: Known,
  code: Refused['code'],
  reason: Reason = {},
  details: Details = {},
): Refused => ({ exit: 'refused', known, code, reason, details })

/** The record cannot be written, and nothing was sent (promise 1). */
export class RecordUnavailable extends Error {}
