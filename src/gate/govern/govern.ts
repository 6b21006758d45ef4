import type { Call } from '../../core/call/call.js'
import { plainEntry } from '../../core/journal/entry.js'
import type { Dispatch } from '../../ports/dispatch.js'
import type { Identified } from '../../ports/identity.js'
import type { JournalEntry } from '../../ports/journal.js'
import { type Answer, committedOf, unrecorded } from '../answer/answer.js'
import { afterWaiting, refusedBefore, stillWaiting } from '../answer/wait.js'
import type { Begun, Constrained, Known, Matched, Parts, Reserved } from '../context.js'
import { admit } from './admit.js'
import { advance } from './advance.js'
import { approve } from './approve.js'
import { authorize } from './authorize.js'
import { begin, identify, recognize } from './begin.js'
import { record } from './conclude.js'
import { constrain, withReadings } from './constrain.js'
import { declare } from './declare.js'
import { send } from './dispatch.js'
import { type Exit, RecordUnavailable, refuse, type Sent } from './exit.js'
import { match } from './match.js'
import { reserve } from './reserve.js'

/**
 * The whole life of a call (docs/lifecycle.md). Each stage takes the previous stage's value and returns the
 * next one, or an Exit; every exit is answered in `answer`, and no call is answered without a record.
 * `identified` is given by a mount that has identified the caller already.
 */
export async function govern(
  call: Call,
  dispatch: Dispatch,
  parts: Parts,
  identified?: Identified,
): Promise<Answer> {
  const caller = identified ?? (await identify(call.caller, parts))
  const answer = await judge(begin(call, caller, parts), dispatch, parts)
  if (call.waitSeconds === 0) return answer
  return answer.kind === 'pending' || answer.kind === 'joined'
    ? afterWaiting(answer, call, parts, (again) => govern(again, dispatch, parts, caller))
    : answer
}

/** From `recognize` to the answer: also for a frozen call whose caller has gone. */
export async function judge(begun: Begun, dispatch: Dispatch, parts: Parts): Promise<Answer> {
  const { actionId, identified } = begun
  if (!parts.journal.health().ok || !parts.evidence.health().ok) {
    return unrecorded('record_unavailable', actionId, identified)
  }
  let reached: Known = begun
  const reach = (matched: Matched): void => {
    reached = matched
  }
  try {
    return await answer(await pipeline(begun, dispatch, parts, reach), parts)
  } catch (error) {
    const isUnrecorded = error instanceof RecordUnavailable
    const event = isUnrecorded ? 'record_unavailable' : 'gate_failed'
    const detail = isUnrecorded ? error.message : String(error)
    parts.report({ level: 'error', event, actionId, detail })
    // Nothing was sent: `send` throws nothing but RecordUnavailable, and only before the first byte.
    // The declaration was to go with what could not be written.
    if (reached.rule?.intent !== undefined) await parts.state.unclaim(actionId)
    return isUnrecorded
      ? unrecorded('record_unavailable', actionId, identified)
      : record(refuse({ ...reached, records: [] }, 'gate_failed'), parts)
  }
}

/** `reach` gets what is known of the call, for the record of a failure in a later stage. */
async function pipeline(
  begun: Begun,
  dispatch: Dispatch,
  parts: Parts,
  reach: (matched: Matched) => void,
): Promise<Exit | Sent> {
  const recognized = recognize(begun)
  if ('exit' in recognized) return recognized
  const matched = match(recognized, parts)
  if ('exit' in matched) return matched
  reach(matched)
  const admitting = admit(matched, parts)
  const admitted = admitting instanceof Promise ? await admitting : admitting
  if ('exit' in admitted) return admitted
  const declaring = declare(admitted, parts)
  const intended = declaring instanceof Promise ? await declaring : declaring
  if ('exit' in intended) return intended
  reach(intended)
  const constrained = constrain(intended, parts)
  if ('exit' in constrained) return constrained
  const reserved = await permit(constrained, parts)
  if ('exit' in reserved) return reserved
  return send(reserved, dispatch, parts)
}

/**
 * `authorize`, `approve`, `reserve`. A full window is found only by `reserve`. Where it asks for a human
 * instead of refusing, the call passes the three again as one that a person must decide: then it has a
 * grant, or it leaves at `approve`.
 */
async function permit(constrained: Constrained, parts: Parts): Promise<Reserved | Exit> {
  const authorized = await authorize(constrained, parts)
  if ('exit' in authorized) return authorized
  const approved = await approve(authorized, parts)
  if ('exit' in approved) return approved
  const reserved = await reserve(approved, parts)
  if ('exit' in reserved || reserved.reserved) return reserved
  const asking = [...constrained.asking, ...reserved.asking]
  const read = withReadings(constrained, reserved.readings, parts)
  return permit(advance(read, { asking }), parts)
}

/** An answer that is on record already is repeated, with an event that says so; any other exit gets its capsule. */
async function answer(ended: Exit | Sent, parts: Parts): Promise<Answer> {
  const { actionId: by, identified: caller, intent } = ended.known
  const declared = committedOf(intent)
  switch (ended.exit) {
    case 'replayed': {
      const { original, response } = ended
      const { actionId: action_id, capsuleId: capsule_id } = original
      await note(plainEntry('REPLAYED', { action_id, capsule_id, by }), ended.known, parts)
      return { kind: 'replayed', caller, ...original, response }
    }
    case 'joined': {
      const { approvalId: approval_id, opened: capsule_id } = ended.approval
      await note(plainEntry('APPROVAL_JOINED', { approval_id, capsule_id, by }), ended.known, parts)
      return stillWaiting('joined', ended.approval, caller, declared)
    }
    case 'refused_before': {
      const repeated = refusedBefore(ended.approval, caller, ended.known.at)
      const { approvalId: approval_id } = ended.approval
      const members = { approval_id, capsule_id: repeated.capsuleId, by }
      await note(plainEntry('REFUSAL_REPEATED', members), ended.known, parts)
      return repeated
    }
    case 'refused':
    case 'asked':
    case 'sent':
      return record(ended, parts)
  }
}

/** An answer that names an existing action is an event of its own (promise 1). */
async function note(event: JournalEntry, { actionId, intent }: Known, parts: Parts): Promise<void> {
  try {
    await Promise.all([parts.journal.append([event]), intent?.written])
  } catch (error) {
    throw new RecordUnavailable(String(error))
  } finally {
    // What a governed call holds of its object.
    if (intent != null) await parts.state.unclaim(actionId)
  }
}
