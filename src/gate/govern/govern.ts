import type { Call } from '../../core/call/call.js'
import { plainEntry } from '../../core/journal/entry.js'
import type { Dispatch } from '../../ports/dispatch.js'
import type { Identified } from '../../ports/identity.js'
import type { JournalEntry } from '../../ports/journal.js'
import { type Answer, unrecorded } from '../answer/answer.js'
import { afterWaiting, refusedBefore, stillWaiting } from '../answer/wait.js'
import type { Constrained, Known, Matched, Opened, Parts, Reserved } from '../context.js'
import { admit } from './admit.js'
import { approve } from './approve.js'
import { authorize } from './authorize.js'
import { constrain, withAsking, withoutPending } from './constrain.js'
import { send } from './dispatch.js'
import { type Exit, RecordUnavailable, refuse, type Sent } from './exit.js'
import { match } from './match.js'
import { identify, open, recognize } from './open.js'
import { record } from './record.js'
import { reserve } from './reserve.js'

/**
 * The whole life of a call (DESIGN §3). Each stage takes the previous stage's value and returns the next
 * one, or an Exit; every exit is answered in one place, and nothing is answered without a record. A mount
 * that has identified the caller already says who it is.
 */
export async function govern(
  call: Call,
  dispatch: Dispatch,
  parts: Parts,
  identified?: Identified,
): Promise<Answer> {
  const caller = identified ?? (await identify(call.caller, parts))
  const answer = await judge(open(call, caller, parts), dispatch, parts)
  if (call.waitSeconds === 0) return answer
  return answer.kind === 'pending' || answer.kind === 'joined'
    ? afterWaiting(answer, call, parts, (again) => govern(again, dispatch, parts, caller))
    : answer
}

/** From \`recognize\` to the answer: also for a frozen call whose caller is no longer there. */
export async function judge(opened: Opened, dispatch: Dispatch, parts: Parts): Promise<Answer> {
  const { actionId, identified } = opened
  if (!parts.journal.health().ok || !parts.evidence.health().ok) {
    return unrecorded('record_unavailable', actionId, identified)
  }
  let reached: Known = opened
  const reach = (matched: Matched): void => {
    reached = matched
  }
  try {
    return await answer(await pipeline(opened, dispatch, parts, reach), parts)
  } catch (error) {
    const detail = error instanceof RecordUnavailable ? error.message : String(error)
    if (error instanceof RecordUnavailable) {
      parts.report({ level: 'error', event: 'record_unavailable', actionId, detail })
      return unrecorded('record_unavailable', actionId, identified)
    }
    // The gate's own failure, and nothing had been sent: \`send\` throws nothing else, and not after.
    parts.report({ level: 'error', event: 'gate_failed', actionId, detail })
    return record(refuse(withoutPending(reached), 'gate_failed'), parts)
  }
}

/** `reach` is told what is known of the call, for the record of a failure further on. */
async function pipeline(
  opened: Opened,
  dispatch: Dispatch,
  parts: Parts,
  reach: (matched: Matched) => void,
): Promise<Exit | Sent> {
  const recognized = recognize(opened)
  if ('exit' in recognized) return recognized
  const matched = match(recognized, parts)
  if ('exit' in matched) return matched
  reach(matched)
  const admitted = admit(matched, parts)
  if ('exit' in admitted) return admitted
  const constrained = constrain(admitted, parts)
  if ('exit' in constrained) return constrained
  const reserved = await permit(constrained, parts)
  if ('exit' in reserved) return reserved
  return send(reserved, dispatch, parts)
}

/**
 * Windows are read where they are claimed. One that is full and asks instead of refusing sends the call
 * through once more, as one that a person must decide; then it has a grant, or it leaves at \`approve\`.
 */
async function permit(constrained: Constrained, parts: Parts): Promise<Reserved | Exit> {
  const authorized = await authorize(constrained, parts)
  if ('exit' in authorized) return authorized
  const approved = await approve(authorized, parts)
  if ('exit' in approved) return approved
  const reserved = await reserve(approved, parts)
  if ('exit' in reserved || reserved.reserved) return reserved
  return permit(withAsking(constrained, reserved, parts), parts)
}

/** What is on record already is told again, with an event that says so; anything else gets its capsule. */
function answer(ended: Exit | Sent, parts: Parts): Promise<Answer> {
  const { known } = ended
  const by = known.actionId
  switch (ended.exit) {
    case 'replayed': {
      const { original, response } = ended
      const { actionId: action_id, capsuleId: capsule_id } = original
      const event = plainEntry('REPLAYED', { action_id, capsule_id, by })
      const told = { kind: 'replayed', caller: known.identified, ...original, response } as const
      return repeat(event, told, known, parts)
    }
    case 'joined': {
      const { approvalId: approval_id, opened: capsule_id } = ended.approval
      const event = plainEntry('APPROVAL_JOINED', { approval_id, capsule_id, by })
      return repeat(event, stillWaiting('joined', ended.approval, known.identified), known, parts)
    }
    case 'refused_before': {
      const told = refusedBefore(ended.approval, known.identified)
      const { approvalId: approval_id } = ended.approval
      const event = { approval_id, capsule_id: told.capsuleId, by }
      return repeat(plainEntry('REFUSAL_REPEATED', event), told, known, parts)
    }
    case 'refused':
    case 'asked':
    case 'sent':
      return record(ended, parts)
  }
}

/** An answer that names an existing action is an event of its own (promise 1). */
async function repeat(
  event: JournalEntry,
  told: Answer,
  { actionId, identified }: Known,
  parts: Parts,
): Promise<Answer> {
  try {
    await parts.journal.append([event])
    return told
  } catch (error) {
    parts.report({ level: 'error', event: 'record_unavailable', actionId, detail: String(error) })
    return unrecorded('record_unavailable', actionId, identified)
  }
}
