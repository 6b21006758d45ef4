import type { ObjectModel } from '../manifest/model.js'

/** After a transition whose outcome nobody saw, until an operator sets a state. No object model may have it. */
export const UNKNOWN_STATE = 'unknown'

/** A state of the model, or UNKNOWN_STATE. Null: nothing is on record of the object, so it is where objects begin. */
export type ObjectState = string | null

type Transition = ObjectModel['transitions'][string]

/** Undefined: the action is possible in every state and changes none. */
export const transitionOf = (model: ObjectModel, action: string): Transition | undefined =>
  Object.hasOwn(model.transitions, action) ? model.transitions[action] : undefined

export const currentState = (model: ObjectModel, state: ObjectState): string =>
  state ?? model.states[0] ?? UNKNOWN_STATE

/** Whether the action may be taken in this state. In an unknown state no transition is possible. */
export function isPossible(model: ObjectModel, state: ObjectState, action: string): boolean {
  const transition = transitionOf(model, action)
  if (transition === undefined) return true
  const now = currentState(model, state)
  return now !== UNKNOWN_STATE && transition.from.includes(now)
}

/**
 * The state after the action was seen to happen. Where it was not possible, as when two calls were judged in one
 * state and both were made, nobody knows what the object is now.
 */
export function stateAfter(model: ObjectModel, state: ObjectState, action: string): string {
  const transition = transitionOf(model, action)
  if (transition === undefined) return currentState(model, state)
  return isPossible(model, state, action) ? transition.to : UNKNOWN_STATE
}

/** The actions whose transition is possible in this state, by name. */
export const actionsIn = (model: ObjectModel, state: ObjectState): readonly string[] =>
  Object.keys(model.transitions)
    .filter((action) => isPossible(model, state, action))
    .sort()
