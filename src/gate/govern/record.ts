import { TABLE } from '../../core/verdict/table.js'
import { type Answer, answerTo, unrecorded } from '../answer/answer.js'
import type { Parts } from '../context.js'
import { conclude } from './conclude.js'
import type { Ending } from './exit.js'

/** No answer without a capsule: if it cannot be written, the answer is that (promise 1). */
export async function record(ending: Ending, parts: Parts): Promise<Answer> {
  const { actionId, identified } = ending.known
  try {
    return answerTo(ending, await conclude(ending, parts))
  } catch (error) {
    parts.report({ level: 'error', event: 'capsule_not_written', actionId, detail: String(error) })
    const sent = ending.exit === 'sent' && TABLE[ending.code].effect !== 'none'
    return unrecorded(sent ? 'record_lost' : 'record_unavailable', actionId, identified)
  } finally {
    // What a dispatch holds, its settlement lets go of.
    if (ending.exit !== 'sent') await parts.state.unclaim(actionId)
  }
}
