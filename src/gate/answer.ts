import { type Problem, problem, unrecordedProblem } from '../core/verdict/problem.js'
import { type Code, TABLE, type UnrecordedCode } from '../core/verdict/table.js'
import type { Dispatched, HeldResponse } from '../ports.js'
import type { Concluded, Ending } from './exit.js'

/** What a mount gives back to its caller. The capsule of every kind but the last two is durable by now. */
export type Answer =
  /** The tool's own answer: release its bytes (or their held-back end). */
  | (Recorded & { readonly kind: 'answered'; readonly dispatched: Dispatched })
  | (Recorded & { readonly kind: 'refused'; readonly status: number; readonly problem: Problem })
  /** An earlier action's recorded response; the ids are that action's. */
  | {
      readonly kind: 'replayed'
      readonly actionId: string
      readonly capsuleId: string
      readonly response: HeldResponse
    }
  /** No capsule could be written. `record_lost`: nothing of the tool's answer may be released. */
  | {
      readonly kind: 'unrecorded'
      readonly code: UnrecordedCode
      readonly status: number
      readonly problem: Problem
    }

type Recorded = {
  readonly actionId: string
  readonly capsuleId: string
  readonly code: Code
  readonly verdict: string
}

export function answer(ending: Ending, { actionId, capsuleId }: Concluded): Answer {
  const row = TABLE[ending.code]
  const { code } = ending
  const { verdict } = row
  if (row.status === 'upstream' && ending.kind === 'dispatched') {
    const { dispatched } = ending
    return { kind: 'answered', actionId, capsuleId, code, verdict, dispatched }
  }
  const status = row.status === 'upstream' ? 502 : row.status
  const tell = ending.kind === 'refused' ? ending.tell : {}
  return {
    kind: 'refused',
    actionId,
    capsuleId,
    code,
    verdict,
    status,
    problem: problem(code, status, { actionId, capsuleId }, tell),
  }
}

export function unrecorded(code: UnrecordedCode, actionId: string): Answer {
  const document = unrecordedProblem(code, actionId)
  return { kind: 'unrecorded', code, status: document.status, problem: document }
}
