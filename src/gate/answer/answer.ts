import { type Problem, problem, unrecordedProblem } from '../../core/verdict/problem.js'
import { type Code, TABLE, type UnrecordedCode } from '../../core/verdict/table.js'
import type { Dispatched, HeldResponse } from '../../ports/dispatch.js'
import type { Identified } from '../../ports/identity.js'
import type { Ending, Tell } from '../govern/exit.js'

/**
 * What a mount gives back to its caller, and who that is. The capsule that an answer names is durable by
 * now; of \`joined\`, \`replayed\` and repeated refusals it is an earlier one.
 */
export type Answer = Executed | Refusal | Pending | Joined | Replay | Unrecorded

type Told = {
  /** As it was identified when the call was opened. */
  readonly caller: Identified
}
type Recorded = Told & {
  readonly actionId: string
  readonly capsuleId: string
  readonly code: Code
  readonly verdict: string
}
/** The tool's own answer: release its bytes (or their held-back end). */
export type Executed = Recorded & { readonly kind: 'executed'; readonly dispatched: Dispatched }
/** Nothing of the tool's is released; \`problem.dispatched\` tells whether it may have acted. */
export type Refusal = Recorded & {
  readonly kind: 'refused'
  readonly status: number
  readonly problem: Problem
}
/** A person is asked about the call: by this very call, or (\`joined\`) since an earlier one. */
export type Waiting = Pending | Joined
type Pending = Asking & { readonly kind: 'pending' }
type Joined = Asking & { readonly kind: 'joined' }
type Asking = Recorded & {
  readonly status: number
  readonly problem: Problem
  readonly approvalId: string
}
/** An earlier action's recorded response; the ids are that action's. */
export type Replay = Told & {
  readonly kind: 'replayed'
  readonly actionId: string
  readonly capsuleId: string
  readonly response: HeldResponse
}
/** No capsule could be written. \`record_lost\`: nothing of the tool's answer may be released. */
export type Unrecorded = Told & {
  readonly kind: 'unrecorded'
  readonly code: UnrecordedCode
  readonly status: number
  readonly problem: Problem
}

type Ids = { readonly actionId: string; readonly capsuleId: string }

export function answerTo(ending: Ending, capsuleId: string): Answer {
  const { actionId, identified: caller } = ending.known
  const ids = { actionId, capsuleId }
  switch (ending.exit) {
    case 'sent': {
      const { code, dispatched } = ending
      const { status, verdict } = TABLE[code]
      return status === 'upstream'
        ? { kind: 'executed', caller, ...ids, code, verdict, dispatched }
        : refusal(code, ids, {}, caller)
    }
    case 'asked':
      return waiting('pending', actionId, ids, ending.tell, caller)
    case 'refused':
      return refusal(ending.code, ids, ending.tell, caller)
  }
}

export function refusal(code: Code, ids: Ids, tell: Tell, caller: Identified): Refusal {
  return { kind: 'refused', ...told(code, ids, tell), caller }
}

export function waiting(
  kind: Waiting['kind'],
  approvalId: string,
  ids: Ids,
  tell: Tell,
  caller: Identified,
): Waiting {
  return { kind, ...told('approval_pending', ids, tell), approvalId, caller }
}

function told(code: Code, ids: Ids, tell: Tell) {
  const { verdict, status: row } = TABLE[code]
  const status = row === 'upstream' ? 502 : row
  return { ...ids, code, verdict, status, problem: problem(code, status, ids, tell) }
}

export function unrecorded(code: UnrecordedCode, actionId: string, caller: Identified): Unrecorded {
  const document = unrecordedProblem(code, actionId)
  return { kind: 'unrecorded', code, status: document.status, problem: document, caller }
}
