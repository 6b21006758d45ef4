import type { Call, HttpCall } from '../../../src/core/call/call.js'
import type {
  Admitted,
  Approved,
  Constrained,
  Intended,
  Matched,
  Parts,
  Recognized,
  Reserved,
} from '../../../src/gate/context.js'
import { admit } from '../../../src/gate/govern/admit.js'
import { approve } from '../../../src/gate/govern/approve.js'
import { authorize } from '../../../src/gate/govern/authorize.js'
import { begin, identify, recognize } from '../../../src/gate/govern/begin.js'
import { constrain } from '../../../src/gate/govern/constrain.js'
import { declare } from '../../../src/gate/govern/declare.js'
import { match } from '../../../src/gate/govern/match.js'
import { reserve } from '../../../src/gate/govern/reserve.js'
import { httpCall } from '../../support/manifests.js'
import { TOKEN } from '../../support/rig.js'

/** A call up to the stage under test, with the real stages before it. */
function on<T extends object>(value: T): Exclude<T, { exit: string }> {
  if ('exit' in value) throw new Error(`the call left: ${JSON.stringify(value)}`)
  return value as Exclude<T, { exit: string }>
}
export async function recognized(call: Call, parts: Parts): Promise<Recognized> {
  return on(recognize(begin(call, await identify(call.caller, parts), parts)))
}
export const matched = async (call: Call, parts: Parts): Promise<Matched> =>
  on(match(await recognized(call, parts), parts))
export const admitted = async (call: Call, parts: Parts): Promise<Admitted> =>
  on(await admit(await matched(call, parts), parts))
export const intended = async (call: Call, parts: Parts): Promise<Intended> =>
  on(await declare(await admitted(call, parts), parts))
export const constrained = async (call: HttpCall, parts: Parts): Promise<Constrained> =>
  on(constrain(await intended(call, parts), parts))
export const approved = async (call: HttpCall, parts: Parts): Promise<Approved> =>
  on(await approve(on(await authorize(await constrained(call, parts), parts)), parts))
export async function reserved(call: HttpCall, parts: Parts): Promise<Reserved> {
  const done = on(await reserve(await approved(call, parts), parts))
  if (!done.reserved) throw new Error('a window is full')
  return done
}

/** A call of the support bot. */
export const post = (target: string, body: unknown, more: Partial<HttpCall> = {}): HttpCall =>
  httpCall('POST', target, body, {
    caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
    ...more,
  })
