import type { ObjectModel } from '../manifest/model.js'
import { currentState, isPossible, type ObjectState, UNKNOWN_STATE } from './object.js'

export type AvailableQuestion = {
  /** Null: the manifest has no object, so nothing is known of states. */
  readonly model: ObjectModel | null
  readonly state: ObjectState
  readonly mandateActions: readonly string[]
  /** Null: in every state. */
  readonly permittedStates: readonly string[] | null
  /** Whether a policy could permit the action. Asked only of actions that would be listed. */
  readonly mayPermit: (action: string) => boolean
  /** What was just refused and need not be offered; null: nothing was. */
  readonly refused: string | null
  readonly most: number
}

/**
 * The mandate's actions that are open in the object's state, by name, without duplicates (seed
 * intent-declaration-primitive-01 §6.2). None where the mandate does not reach to this state.
 */
export function availableActions(question: AvailableQuestion): readonly string[] {
  const { model, state, mandateActions, permittedStates, mayPermit, refused, most } = question
  const now = model === null ? UNKNOWN_STATE : currentState(model, state)
  if (permittedStates !== null && (now === UNKNOWN_STATE || !permittedStates.includes(now))) {
    return []
  }
  const available: string[] = []
  for (const action of [...new Set(mandateActions)].sort()) {
    if (available.length >= most) break
    if (action === refused) continue
    if (model !== null && !isPossible(model, state, action)) continue
    if (mayPermit(action)) available.push(action)
  }
  return available
}
