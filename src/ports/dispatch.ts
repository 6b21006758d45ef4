import type { Header, ReadCall } from '../core/call/call.js'
import type { Wrote } from '../core/call/executed.js'
import type { Observation } from '../core/capsule/observation.js'
import type { OctetsDigest } from '../core/http/response-body.js'
import type { ToolRule } from '../core/manifest/model.js'

/**
 * The mount's way to send the call. It MUST NOT send anything before it is called, MUST send exactly
 * the frozen bytes, and MUST call `stillAllowed` just before the first byte: false means that it may
 * not leave, and the observation is `not_sent` with cause `withdrawn`.
 */
export type Dispatch = (order: DispatchOrder) => Promise<Dispatched>
export type DispatchOrder = {
  readonly actionId: string
  /** The call as it was judged: these octets to this upstream, and nothing else, may be sent. */
  readonly call: ReadCall
  /** The rule the call was judged under: deadlines, forwarded headers, success, release. */
  readonly rule: ToolRule
  readonly stillAllowed: () => boolean
  /**
   * How the response's octets are digested: null is SHA-256; a tool with `digest_salt: tenant` has an HMAC
   * under a secret that the mount does not get (seed §13).
   */
  readonly saltedDigest: (() => OctetsDigest) | null
}
export type Dispatched = {
  readonly observation: Observation
  /** The whole response, when it was held: kept for replay and for `capture: full`. */
  readonly held: HeldResponse | null
  /**
   * What left, as the adapter wrote it. Absent where the gate itself wrote nothing, and where the rule asks for no
   * intent that it would be compared with.
   */
  readonly wrote?: Wrote
}
export type { Wrote }
export type HeldResponse = {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

export const notSent = (
  cause: string,
  deadline = false,
): Extract<Observation, { kind: 'not_sent' }> => ({ kind: 'not_sent', cause, deadline })

/** A check that throws has not said yes. */
export function allowed(stillAllowed: () => boolean): boolean {
  try {
    return stillAllowed() === true
  } catch {
    return false
  }
}
