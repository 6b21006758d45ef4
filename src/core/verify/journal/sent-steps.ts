import type { IntentStep } from '../../journal/lines/call.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { clip, type Findings } from '../finding.js'
import { type Concluded, detached } from './line.js'

type Named = Pick<IntentStep, 'session_id' | 'so_id' | 'idp_id' | 'step_sequence'>
type Transition = LineOf<'STATE_TRANSITIONED' | 'ACTION_RESULT_RECORDED'>
/** What was concluded in this batch as sent: its transition stands behind it, in the same append. */
type Sent = {
  readonly seq: number
  /** Null: its dispatch stands in lines that are not here, or named no step. */
  readonly step: string | null
  readonly declared: boolean
  readonly recovered: boolean
  moved: boolean
}

const KEPT_APART = '\n'
export const stepKey = ({ session_id, so_id, idp_id, step_sequence }: Named): string =>
  [session_id, so_id, idp_id, step_sequence].join(KEPT_APART)

/** The step and what it does: what is declared, dispatched and transitioned must be one. */
export const actedKey = (step: Named, action: string): string =>
  [stepKey(step), action].join(KEPT_APART)

/**
 * What was declared and sent cannot be left without its comparison (seed intent-declaration-primitive-01 §5.5): the
 * capsule that says so is followed, in its batch, by one transition of that action and step, and no transition stands
 * without one. Kept are the dispatches that are open, and what the batch concluded.
 */
export function createSentSteps(
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  const open = new Map<string, string>()
  const batch = new Map<string, Sent>()

  function faultOf(line: Transition, sent: Sent | undefined): [code: string, what: string] | null {
    const { seq, action_id, cedar_action } = line
    const named = `seq ${seq}: ${clip(action_id)}`
    if (sent?.moved === true)
      return ['transition_without_dispatch', `${named} has its transition already`]
    if (sent === undefined || sent.step === null)
      return fromStart()
        ? ['transition_without_dispatch', `${named} was not sent as a declared step in its batch`]
        : null
    return sent.step === actedKey(line, cedar_action)
      ? null
      : ['transition_step_mismatch', `${named} was sent as another step`]
  }

  return {
    dispatched({ action_id, intent }: LineOf<'ACTION_DISPATCHED'>): void {
      if (intent === undefined) return
      open.set(detached(action_id), detached(actedKey(intent, intent.cedar_action)))
    },
    concluded({ actionId, effect, declared, beside, recovered, seq }: Concluded): void {
      if (actionId === null) return
      const step = open.get(actionId) ?? null
      open.delete(actionId)
      // Nothing left, or it is a statement about an earlier action: there is nothing to compare.
      if (!effect || (beside && step === null) || batch.has(actionId)) return
      const was = { seq, step, declared: declared || step !== null, recovered, moved: false }
      batch.set(detached(actionId), was)
    },
    /** Whether a record of its comparison must stand beside it: what a crash left was not compared. */
    transitioned(line: Transition, findings: Findings): boolean {
      const sent = batch.get(line.action_id)
      const fault = faultOf(line, sent)
      if (fault !== null) findings.fault(...fault)
      if (sent === undefined) return false
      sent.moved = true
      return !sent.recovered
    },
    /** The end of a batch. After a crash without its evidence nothing says which step it was. */
    settle(findings: Findings): void {
      for (const { declared, moved, recovered, seq } of batch.values())
        if (declared && !moved && !recovered)
          findings.fault('transition_missing', `seq ${seq} was declared and sent, and not compared`)
      batch.clear()
    },
  }
}
