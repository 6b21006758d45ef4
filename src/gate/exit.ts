import type { Plain } from '../core/json/value.js'
import type { Code, RefusalCode } from '../core/verdict/table.js'
import type { Appended, Approval, Dispatched, HeldResponse } from '../ports.js'
import type { Known } from './stage.js'

/** The private reason: machine-readable, without times or ids, so that two engines digest it alike (seed §5.4). */
export type Reason = {
  readonly constraint?: string
  readonly policy_ids?: readonly string[]
  readonly threshold?: Plain
  readonly observed?: Plain
  readonly detail?: string
}

/** A stage leaves the pipeline before dispatch by throwing this; the spine's one catch concludes it. */
export class Exit extends Error {
  readonly known: Known
  readonly code: RefusalCode
  readonly reason: Reason
  /** Members the caller may see in the problem document. */
  readonly tell: { readonly [name: string]: Plain }

  constructor(known: Known, code: RefusalCode, reason: Reason = {}, tell: Exit['tell'] = {}) {
    super(code)
    this.known = known
    this.code = code
    this.reason = reason
    this.tell = tell
  }
}

/** The answer already exists: a stored response is given again and no new capsule is written. */
export class Replay extends Error {
  readonly known: Known
  readonly original: { readonly actionId: string; readonly capsuleId: string }
  readonly response: HeldResponse
  constructor(known: Known, original: Replay['original'], response: HeldResponse) {
    super('replay')
    this.known = known
    this.original = original
    this.response = response
  }
}

/** Somebody is already asked about exactly this call: the same answer again, an event and no capsule. */
export class Join extends Error {
  readonly known: Known
  readonly approval: Approval
  constructor(known: Known, approval: Approval) {
    super('join')
    this.known = known
    this.approval = approval
  }
}

/** A person refused this call and that stands: the same answer again, an event and no capsule. */
export class Refused extends Error {
  readonly known: Known
  readonly approval: Approval
  constructor(known: Known, approval: Approval) {
    super('refused')
    this.known = known
    this.approval = approval
  }
}

/** The record cannot be written: nothing may be promised (promise 1). */
export class RecordUnavailable extends Error {}

/** How a call ended: what the record will say. */
export type Ending =
  | {
      readonly kind: 'refused'
      readonly known: Known
      readonly code: RefusalCode
      readonly reason: Reason
      readonly tell: Exit['tell']
    }
  | {
      readonly kind: 'dispatched'
      readonly known: Known
      readonly code: Code
      readonly dispatched: Dispatched
    }

export type Concluded = {
  readonly actionId: string
  readonly capsuleId: string
  readonly line: Appended
}
