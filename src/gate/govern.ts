import type { Call } from '../core/call.js'
import { TABLE } from '../core/verdict/table.js'
import type { Dispatch } from '../ports.js'
import { admit } from './admit.js'
import { type Answer, answer, unrecorded } from './answer.js'
import { approve } from './approve.js'
import { authorize } from './authorize.js'
import { conclude } from './conclude.js'
import { constrain } from './constrain.js'
import { send } from './dispatch.js'
import { type Ending, Exit, RecordUnavailable, Replay } from './exit.js'
import { match } from './match.js'
import { open } from './open.js'
import { reserve } from './reserve.js'
import type { Known, Opened, Parts } from './stage.js'

/**
 * The whole life of a call (DESIGN §3). Each stage takes the previous stage's value; any stage may
 * leave by throwing an Exit; the one catch below turns that into an ending; every ending is concluded.
 */
export async function govern(call: Call, dispatch: Dispatch, parts: Parts): Promise<Answer> {
  const opened = await open(call, parts)
  if (!parts.journal.health().ok || !parts.evidence.health().ok) {
    return unrecorded('record_unavailable', opened.actionId)
  }
  try {
    return await record(await pipeline(opened, dispatch, parts), parts)
  } catch (error) {
    if (error instanceof Replay) return replay(error, parts)
    if (error instanceof RecordUnavailable) {
      parts.report({
        level: 'error',
        event: 'record_unavailable',
        actionId: opened.actionId,
        detail: error.message,
      })
      return unrecorded('record_unavailable', opened.actionId)
    }
    return record(endingOf(error, opened, parts), parts)
  }
}

async function pipeline(opened: Opened, dispatch: Dispatch, parts: Parts): Promise<Ending> {
  const matched = match(opened, parts)
  const admitted = admit(matched, parts)
  const constrained = constrain(admitted, parts)
  const authorized = await authorize(constrained, { granted: false }, parts)
  const approved = approve(authorized)
  const reserved = await reserve(approved, parts)
  return send(reserved, dispatch, parts)
}

/** An Exit says why; anything else is the gate's own failure, and nothing had been sent (`send` never throws after). */
function endingOf(error: unknown, opened: Known, parts: Parts): Ending {
  if (error instanceof Exit) {
    const { known, code, reason, tell } = error
    return { kind: 'refused', known, code, reason, tell }
  }
  parts.report({
    level: 'error',
    event: 'gate_failed',
    actionId: opened.actionId,
    detail: String(error),
  })
  return { kind: 'refused', known: opened, code: 'gate_failed', reason: {}, tell: {} }
}

/** No answer without a capsule: if it cannot be written, the answer is that (promise 1). */
async function record(ending: Ending, parts: Parts): Promise<Answer> {
  try {
    return answer(ending, await conclude(ending, parts))
  } catch (error) {
    const { actionId } = ending.known
    parts.report({ level: 'error', event: 'capsule_not_written', actionId, detail: String(error) })
    const sent = ending.kind === 'dispatched' && TABLE[ending.code].effect !== 'none'
    return unrecorded(sent ? 'record_lost' : 'record_unavailable', actionId)
  }
}

async function replay({ known, original, response }: Replay, parts: Parts): Promise<Answer> {
  try {
    await parts.journal.append([
      {
        type: 'REPLAYED',
        json: JSON.stringify({
          action_id: original.actionId,
          capsule_id: original.capsuleId,
          by: known.actionId,
        }),
      },
    ])
  } catch (error) {
    parts.report({
      level: 'error',
      event: 'record_unavailable',
      actionId: known.actionId,
      detail: String(error),
    })
    return unrecorded('record_unavailable', known.actionId)
  }
  return { kind: 'replayed', ...original, response }
}
