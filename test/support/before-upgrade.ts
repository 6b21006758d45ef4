import type { HttpCall } from '../../src/core/call/call.js'
import { legacyDigest } from '../../src/core/call/digest.js'
import { admit } from '../../src/gate/admit.js'
import { advance } from '../../src/gate/advance.js'
import { approve } from '../../src/gate/approve.js'
import { authorize } from '../../src/gate/authorize.js'
import { conclude } from '../../src/gate/conclude.js'
import { constrain } from '../../src/gate/constrain.js'
import { send } from '../../src/gate/dispatch.js'
import { Exit } from '../../src/gate/exit.js'
import { match } from '../../src/gate/match.js'
import { identify, open, recognize } from '../../src/gate/open.js'
import { reserve } from '../../src/gate/reserve.js'
import type { Approved, Parts } from '../../src/gate/stage.js'
import type { Dispatch } from '../../src/ports.js'

/** Lines and evidence as a gate left them that bound no header but those of `bind_headers`. */
async function judgedBefore(call: HttpCall, parts: Parts): Promise<Approved> {
  const matched = match(recognize(open(call, await identify(call.caller, parts), parts)), parts)
  const older = advance(matched, { requestDigest: legacyDigest(matched, parts) })
  return approve(await authorize(constrain(admit(older, parts), parts), parts), parts)
}

/** Puts the call before a person; answers the approval's id. */
export async function askedBefore(call: HttpCall, parts: Parts): Promise<string> {
  try {
    await judgedBefore(call, parts)
  } catch (error) {
    if (!(error instanceof Exit) || error.code !== 'approval_pending') throw error
    const { known, code, reason, tell } = error
    await conclude({ kind: 'refused', known, code, reason, tell }, parts)
    await parts.state.unclaim(known.actionId)
    return known.actionId
  }
  throw new Error('nobody is asked about this call')
}

/** Sends the call; `concluded: false` leaves it in flight, as a crash would. */
export async function sentBefore(
  call: HttpCall,
  dispatch: Dispatch,
  parts: Parts,
  concluded = true,
): Promise<string> {
  const approved = await judgedBefore(call, parts)
  const reserved = await reserve(approved, parts)
  if (!reserved.reserved) throw new Error('a window is full')
  const ending = await send(reserved, dispatch, parts)
  if (concluded) await conclude(ending, parts)
  return approved.actionId
}
