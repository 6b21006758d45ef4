import type { ObjectModel } from '../manifest/model.js'
import { currentState, type ObjectState, transitionOf, UNKNOWN_STATE } from './object.js'

/** Longer ways are not suggested. */
export const MOST_STEPS = 8

/** A way to a state in which the refused action is possible (seed intent-declaration-primitive-01 §6.2). */
export type Path = {
  /** Actions in order, without the refused one that they lead to. */
  readonly steps: readonly string[]
  /** Some step is not among the mandate's actions. */
  readonly requires_elevation: boolean
}

type Edge = { readonly action: string; readonly to: string }
type Walk = { readonly states: readonly string[]; readonly steps: readonly string[] }

/**
 * At most `limit` ways from a state to one where the action is possible, shortest first. None where it is possible
 * already, needs no state, or the state is unknown. Breadth-first; a way comes to no state twice, and each state is
 * gone on from at most `limit` times, so the work grows with states and transitions only.
 */
export function pathsTo(
  model: ObjectModel,
  from: ObjectState,
  action: string,
  mandateActions: readonly string[],
  limit: number,
): readonly Path[] {
  const goals = transitionOf(model, action)?.from ?? []
  const start = currentState(model, from)
  if (goals.length === 0 || start === UNKNOWN_STATE || goals.includes(start)) return []
  const held = new Set(mandateActions)
  const edges = edgesByState(model, held)
  const reached = new Map<string, number>()
  const found: Path[] = []
  let walks: readonly Walk[] = [{ states: [start], steps: [] }]
  for (let step = 0; step < MOST_STEPS && walks.length > 0; step++) {
    const next: Walk[] = []
    for (const walk of walks) {
      for (const edge of edges.get(walk.states.at(-1) as string) ?? []) {
        const times = reached.get(edge.to) ?? 0
        if (times >= limit || walk.states.includes(edge.to)) continue
        reached.set(edge.to, times + 1)
        const steps = [...walk.steps, edge.action]
        if (!goals.includes(edge.to)) next.push({ states: [...walk.states, edge.to], steps })
        else found.push({ steps, requires_elevation: !steps.every((taken) => held.has(taken)) })
        if (found.length === limit) return found
      }
    }
    walks = next
  }
  return found
}

/** What leads out of each state: the mandate's own actions first, then by name. */
function edgesByState(
  model: ObjectModel,
  held: ReadonlySet<string>,
): ReadonlyMap<string, readonly Edge[]> {
  const byName = Object.keys(model.transitions).sort()
  const ordered = [
    ...byName.filter((action) => held.has(action)),
    ...byName.filter((action) => !held.has(action)),
  ]
  const edges = new Map<string, Edge[]>()
  for (const action of ordered) {
    const transition = transitionOf(model, action)
    for (const state of transition?.from ?? []) {
      const out = edges.get(state) ?? []
      edges.set(state, [...out, { action, to: transition?.to ?? state }])
    }
  }
  return edges
}
