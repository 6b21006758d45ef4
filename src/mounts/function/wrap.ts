import { utf8 } from '../../core/bytes/text.js'
import type { Problem } from '../../core/verdict/problem.js'
import type { Gate } from '../../gate/gate.js'
import { type Dispatch, notSent } from '../../ports/dispatch.js'
import { type CallAs, inProcess } from './call-as.js'

/** The gate's answer instead of a result. `problem.dispatched` tells whether the tool may have acted. */
export class GateRefusal extends Error {
  readonly problem: Problem

  constructor(problem: Problem, cause?: unknown) {
    super(problem.detail, cause === undefined ? {} : { cause })
    this.name = 'GateRefusal'
    this.problem = problem
  }

  get code(): string {
    return this.problem.code
  }
}

export type Wrapped<A, R> = (args: A, as: CallAs) => Promise<R>

type Ran<R> =
  | { readonly kind: 'not_run' }
  | { readonly kind: 'returned'; readonly value: R }
  | { readonly kind: 'threw'; readonly error: unknown }

/**
 * Puts the gate around a function of the application. What it does cannot be observed from here: its
 * result is its own word, recorded as `runtime_claimed` and never as confirmed (promise 3).
 */
export function wrap<A, R>(
  gate: Pick<Gate, 'govern'>,
  tool: string,
  run: (args: A) => Promise<R> | R,
): Wrapped<A, R> {
  return async (args, as) => {
    const { text, fault } = jsonOf(args)
    let ran: Ran<R> = { kind: 'not_run' }
    const dispatch: Dispatch = async ({ stillAllowed }) => {
      if (!stillAllowed()) return { observation: notSent('withdrawn'), held: null }
      try {
        // The judged arguments, not the caller's object, which may have changed meanwhile.
        ran = { kind: 'returned', value: await run(JSON.parse(text) as A) }
      } catch (error) {
        ran = { kind: 'threw', error }
      }
      return { observation: { kind: 'claimed', ok: ran.kind === 'returned' }, held: null }
    }
    const answer = await gate.govern(
      { kind: 'function', tool, argumentsJson: utf8(text), ...inProcess(as) },
      dispatch,
    )
    return resultOf(answer, ran, fault)
  }
}

function resultOf<R>(
  answer: Awaited<ReturnType<Gate['govern']>>,
  // Assigned in a callback: the compiler still believes what it was before.
  ran: Ran<R>,
  fault: unknown,
): R {
  switch (answer.kind) {
    case 'executed':
      if (ran.kind === 'returned') return ran.value
      throw new TypeError('executed without a result')
    case 'refused':
      // Recorded; to the caller a function that throws still throws its own error.
      if (ran.kind === 'threw' && answer.code === 'runtime_failed') throw ran.error
      throw new GateRefusal(answer.problem, fault)
    case 'pending':
    case 'joined':
      throw new GateRefusal(answer.problem, fault)
    case 'unrecorded':
      throw new GateRefusal(answer.problem, ran.kind === 'threw' ? ran.error : fault)
    case 'replayed':
      throw new TypeError('a claimed result is never stored')
  }
}

/** What JSON cannot say is no call: the gate refuses it as unreadable, and the record says so. */
function jsonOf(args: unknown): { readonly text: string; readonly fault: unknown } {
  try {
    return { text: JSON.stringify(args) ?? '', fault: undefined }
  } catch (fault) {
    return { text: '', fault }
  }
}
