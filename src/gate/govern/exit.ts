import type { Plain } from '../../core/json/value.js'
import type { Code, RefusalCode } from '../../core/verdict/table.js'
import type { Dispatched, HeldResponse } from '../../ports/dispatch.js'
import type { Approval } from '../../ports/state.js'
import type { Authorized, Known, Opening, Reserved } from '../context.js'

/** The private reason: machine-readable, without times or ids, so that two engines digest it alike (seed §5.4). */
export type Reason = {
  readonly constraint?: string
  readonly policy_ids?: readonly string[]
  readonly threshold?: Plain
  readonly observed?: Plain
}
/** Members the caller may see in the problem document. */
export type Tell = { readonly [name: string]: Plain }

/** A stage's other result: the call goes no further, and this is what becomes of it. */
export type Exit = Refused | Asked | Joined | RefusedBefore | Replayed

export type Refused = {
  readonly exit: 'refused'
  readonly known: Known
  readonly code: Exclude<RefusalCode, 'approval_pending'>
  readonly reason: Reason
  readonly tell: Tell
}
/** A person is asked; the call waits as an open item. */
export type Asked = {
  readonly exit: 'asked'
  readonly known: Authorized & { readonly opening: Opening; readonly supersedes: string | null }
  readonly code: 'approval_pending'
  readonly reason: Reason
  readonly tell: Tell
}
/** A person is already asked about exactly this call: the same answer again, an event and no capsule. */
export type Joined = { readonly exit: 'joined'; readonly known: Known; readonly approval: Approval }
/** A person refused this call and that stands: the same answer again, an event and no capsule. */
export type RefusedBefore = {
  readonly exit: 'refused_before'
  readonly known: Known
  readonly approval: Approval
}
/** The answer already exists: a stored response is given again and no new capsule is written. */
export type Replayed = {
  readonly exit: 'replayed'
  readonly known: Known
  readonly original: { readonly actionId: string; readonly capsuleId: string }
  readonly response: HeldResponse
}
/** The call went through to dispatch; what was observed says how it ended. */
export type Sent = {
  readonly exit: 'sent'
  readonly known: Reserved
  readonly code: Code
  readonly dispatched: Dispatched
}

/** What a capsule concludes. */
export type Ending = Refused | Asked | Sent

export const refuse = (
  known: Known,
  code: Refused['code'],
  reason: Reason = {},
  tell: Tell = {},
): Refused => ({ exit: 'refused', known, code, reason, tell })

/** The record cannot be written: nothing may be promised (promise 1). */
export class RecordUnavailable extends Error {}
