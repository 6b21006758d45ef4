import type { Declared } from '../../core/intent/model.js'
import { type Problem, problem, unrecordedProblem } from '../../core/verdict/problem.js'
import { type Code, TABLE, type UnrecordedCode } from '../../core/verdict/table.js'
import type { Dispatched, HeldResponse } from '../../ports/dispatch.js'
import type { Identified } from '../../ports/identity.js'
import type { OnRecord } from '../context.js'
import type { Details, Ending } from '../govern/exit.js'

/**
 * What a mount gives back to its caller, and who that is. The capsule that an answer names is durable; of
 * `joined`, `replayed` and repeated refusals it is an earlier one.
 */
export type Answer = Executed | Refusal | Waiting | Replay | Unrecorded

type ToCaller = {
  /** As it was identified when the call began. */
  readonly caller: Identified
}
type Ids = { readonly actionId: string; readonly capsuleId: string }
type Recorded = ToCaller & Ids & { readonly code: Code; readonly verdict: string }
type WithProblem = { readonly status: number; readonly problem: Problem }
/** The tool's own response: its bytes, or the end of them that was held back, are released. */
export type Executed = Recorded & { readonly kind: 'executed'; readonly dispatched: Dispatched }
/** Nothing of the tool's response is released; `problem.dispatched` says whether the tool may have acted. */
export type Refusal = Recorded & WithProblem & { readonly kind: 'refused' }
/** A person is asked about the call: by this very call, or (`joined`) since an earlier one. */
export type Waiting = Asked<'pending'> | Asked<'joined'>
type Asked<Kind> = Recorded &
  WithProblem & {
    readonly kind: Kind
    readonly approvalId: string
    /** The call's own declaration, which is on record: it is not committed again when the call goes on. */
    readonly declared?: Declared
  }
/** An earlier action's recorded response; the ids are that action's. */
export type Replay = ToCaller & Ids & { readonly kind: 'replayed'; readonly response: HeldResponse }
/** No capsule could be written. `record_lost`: nothing of the tool's response may be released. */
export type Unrecorded = ToCaller &
  WithProblem & { readonly kind: 'unrecorded'; readonly code: UnrecordedCode }

export function answerTo(ending: Ending, capsuleId: string): Answer {
  const { actionId, identified: caller } = ending.known
  const ids = { actionId, capsuleId }
  switch (ending.exit) {
    case 'sent': {
      const { code, dispatched } = ending
      const { status, verdict } = TABLE[code]
      return status === 'upstream'
        ? { kind: 'executed', caller, ...ids, code, verdict, dispatched }
        : refusal(code, ids, { timestamp: ending.known.at }, caller)
    }
    case 'asked':
      return {
        ...waiting('pending', actionId, ids, ending.details, caller),
        ...committedOf(ending.known.intent),
      }
    case 'refused':
      return refusal(ending.code, ids, ending.details, caller)
  }
}

/** As a waiting call carries it on. */
export const committedOf = (intent: OnRecord | null | undefined): { declared?: Declared } => {
  if (intent == null) return {}
  const { mandate, eventId, digest } = intent
  return { declared: { kind: 'committed', intent: intent.intent, mandate, eventId, digest } }
}

export function refusal(code: Code, ids: Ids, details: Details, caller: Identified): Refusal {
  return { kind: 'refused', ...recorded(code, ids, details), caller }
}

export function waiting(
  kind: Waiting['kind'],
  approvalId: string,
  ids: Ids,
  details: Details,
  caller: Identified,
): Waiting {
  return { kind, ...recorded('approval_pending', ids, details), approvalId, caller }
}

function recorded(code: Code, ids: Ids, details: Details) {
  const { verdict, status: row } = TABLE[code]
  const status = row === 'upstream' ? 502 : row
  return { ...ids, code, verdict, status, problem: problem(code, status, ids, details) }
}

export function unrecorded(code: UnrecordedCode, actionId: string, caller: Identified): Unrecorded {
  const document = unrecordedProblem(code, actionId)
  return { kind: 'unrecorded', code, status: document.status, problem: document, caller }
}
