import type { Call } from '../core/call/call.js'
import { plainEntry } from '../core/journal/entry.js'
import type { Dispatch, Identified, JournalEntry } from '../ports.js'
import { admit } from './admit.js'
import { type Answer, unrecorded } from './answer.js'
import { approve } from './approve.js'
import { authorize } from './authorize.js'
import { constrain, withAsking } from './constrain.js'
import { send } from './dispatch.js'
import { type Ending, Exit, Join, RecordUnavailable, Refused, Replay } from './exit.js'
import { match } from './match.js'
import { identify, open, recognize } from './open.js'
import { record } from './record.js'
import { reserve } from './reserve.js'
import type { Constrained, Known, Opened, Parts, Reserved } from './stage.js'
import { afterWaiting, isPending, pendingAnswer, refusedAnswer } from './wait.js'

/**
 * The whole life of a call (DESIGN §3). Each stage takes the previous stage's value; any stage may
 * leave by throwing an Exit; the one catch below turns that into an ending; every ending is concluded.
 * A mount that has identified the caller already says who it is.
 */
export async function govern(
  call: Call,
  dispatch: Dispatch,
  parts: Parts,
  identified?: Identified,
): Promise<Answer> {
  const caller = identified ?? (await identify(call.caller, parts))
  const answered = await judge(open(call, caller, parts), dispatch, parts)
  if (call.waitSeconds === 0 || !isPending(answered)) return answered
  return afterWaiting(answered, call, caller, parts, (again) => govern(again, dispatch, parts))
}

/** From `recognize` to the answer: also for a frozen call whose caller is no longer there. */
export async function judge(opened: Opened, dispatch: Dispatch, parts: Parts): Promise<Answer> {
  if (!parts.journal.health().ok || !parts.evidence.health().ok) {
    return unrecorded('record_unavailable', opened.actionId)
  }
  try {
    return await record(await pipeline(opened, dispatch, parts), parts)
  } catch (error) {
    if (error instanceof Replay) return replay(error, parts)
    if (error instanceof Join) return join(error, parts)
    if (error instanceof Refused) return refuseAgain(error, parts)
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
  const recognized = recognize(opened)
  const matched = match(recognized, parts)
  const admitted = admit(matched, parts)
  const constrained = constrain(admitted, parts)
  const reserved = await permit(constrained, parts)
  return send(reserved, dispatch, parts)
}

/**
 * Windows are read where they are claimed. One that is full and asks instead of refusing sends the call
 * through once more, as one that a person must decide; then it has a grant, or it leaves at `approve`.
 */
async function permit(constrained: Constrained, parts: Parts): Promise<Reserved> {
  const authorized = await authorize(constrained, parts)
  const approved = await approve(authorized, parts)
  const reserved = await reserve(approved, parts)
  return reserved.reserved ? reserved : permit(withAsking(constrained, reserved, parts), parts)
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

async function replay({ known, original, response }: Replay, parts: Parts): Promise<Answer> {
  const { actionId: action_id, capsuleId: capsule_id } = original
  const event = plainEntry('REPLAYED', { action_id, capsule_id, by: known.actionId })
  const failed = await repeat(event, known, parts)
  return failed ?? { kind: 'replayed', ...original, response }
}

async function join({ known, approval }: Join, parts: Parts): Promise<Answer> {
  const { approvalId: approval_id, opened: capsule_id } = approval
  const event = plainEntry('APPROVAL_JOINED', { approval_id, capsule_id, by: known.actionId })
  return (await repeat(event, known, parts)) ?? pendingAnswer(approval)
}

async function refuseAgain({ known, approval }: Refused, parts: Parts): Promise<Answer> {
  const told = refusedAnswer(approval)
  const { approvalId: approval_id } = approval
  const members = { approval_id, capsule_id: told.capsuleId, by: known.actionId }
  return (await repeat(plainEntry('REFUSAL_REPEATED', members), known, parts)) ?? told
}

/** An answer that names an existing action is an event of its own (promise 1). */
async function repeat(
  event: JournalEntry,
  { actionId }: Known,
  parts: Parts,
): Promise<Answer | null> {
  try {
    await parts.journal.append([event])
    return null
  } catch (error) {
    parts.report({ level: 'error', event: 'record_unavailable', actionId, detail: String(error) })
    return unrecorded('record_unavailable', actionId)
  }
}
