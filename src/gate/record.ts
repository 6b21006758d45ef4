import { TABLE } from '../core/verdict/table.js'
import { type Answer, answer, unrecorded } from './answer.js'
import { conclude } from './conclude.js'
import type { Ending } from './exit.js'
import type { Parts } from './stage.js'

/** No answer without a capsule: if it cannot be written, the answer is that (promise 1). */
export async function record(ending: Ending, parts: Parts): Promise<Answer> {
  try {
    return answer(ending, await conclude(ending, parts))
  } catch (error) {
    const { actionId } = ending.known
    parts.report({ level: 'error', event: 'capsule_not_written', actionId, detail: String(error) })
    const sent = ending.kind === 'dispatched' && TABLE[ending.code].effect !== 'none'
    return unrecorded(sent ? 'record_lost' : 'record_unavailable', actionId)
  } finally {
    // What a dispatch holds, its settlement lets go of.
    if (ending.kind === 'refused') await parts.state.unclaim(ending.known.actionId)
  }
}
