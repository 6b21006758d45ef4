import type { HttpCall } from '../../src/core/call/call.js'
import { olderDigests } from '../../src/core/call/digest.js'
import type { Approved, Parts } from '../../src/gate/context.js'
import { admit } from '../../src/gate/govern/admit.js'
import { advance } from '../../src/gate/govern/advance.js'
import { approve } from '../../src/gate/govern/approve.js'
import { authorize } from '../../src/gate/govern/authorize.js'
import { begin, identify, recognize } from '../../src/gate/govern/begin.js'
import { conclude } from '../../src/gate/govern/conclude.js'
import { constrain } from '../../src/gate/govern/constrain.js'
import { declare } from '../../src/gate/govern/declare.js'
import { send } from '../../src/gate/govern/dispatch.js'
import type { Exit } from '../../src/gate/govern/exit.js'
import { match } from '../../src/gate/govern/match.js'
import { reserve } from '../../src/gate/govern/reserve.js'
import type { Dispatch } from '../../src/ports/dispatch.js'

/** Goes on with what a stage made; what left there is told. */
function went<T extends object>(value: T): Exclude<T, { exit: string }> {
  if ('exit' in value) throw new Error(`the call left: ${JSON.stringify(value.exit)}`)
  return value as Exclude<T, { exit: string }>
}

/** Lines and evidence as an earlier gate left them; `which` of its digests: 0.1's, the last, bound no header but those of `bind_headers`. */
async function judgedBefore(call: HttpCall, parts: Parts, which: number): Promise<Approved | Exit> {
  const opened = begin(call, await identify(call.caller, parts), parts)
  const matched = went(match(went(recognize(opened)), parts))
  const older = advance(matched, olderDigests(matched, parts).at(which) ?? {})
  const constrained = went(
    constrain(went(await declare(went(await admit(older, parts)), parts)), parts),
  )
  return approve(went(await authorize(constrained, parts)), parts)
}

/** Puts the call before a person; answers the approval's id. */
export async function askedBefore(call: HttpCall, parts: Parts, which = -1): Promise<string> {
  const ended = await judgedBefore(call, parts, which)
  if (!('exit' in ended) || ended.exit !== 'asked') throw new Error('nobody is asked')
  await conclude(ended, parts)
  await parts.state.unclaim(ended.known.actionId)
  return ended.known.actionId
}

/** Sends the call; `concluded: false` leaves it in flight, as a crash would. */
export async function sentBefore(
  call: HttpCall,
  dispatch: Dispatch,
  parts: Parts,
  concluded = true,
  which = -1,
): Promise<string> {
  const approved = went(await judgedBefore(call, parts, which))
  const reserved = went(await reserve(approved, parts))
  if (!reserved.reserved) throw new Error('a window is full')
  const ending = await send(reserved, dispatch, parts)
  if (concluded) await conclude(ending, parts)
  return approved.actionId
}
