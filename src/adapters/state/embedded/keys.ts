import type { KeyState } from '../../../ports/state.js'
import type { Dump } from './dump.js'

type Concluded = { readonly state: KeyState; readonly at: number }

export const keyScope = (operator: string, agent: string, key: string): string =>
  JSON.stringify([operator, agent, key])

export type Keys = ReturnType<typeof createKeys>

/** The scope without the key, which is hex and has no comma. */
const ownerOf = (scope: string): string => scope.slice(0, scope.lastIndexOf(','))

/**
 * Idempotency keys (DESIGN §3): in flight with their action, then completed or unknown until their time is over.
 * Those that are only reserved (`held`) are no part of a dump.
 */
export function createKeys(ttlMs: number, perAgent: number) {
  const held = new Map<string, KeyState>()
  const inFlight = new Map<string, KeyState>()
  /** In order of conclusion, so the oldest are first. */
  const concluded = new Map<string, Concluded>()

  /** Entries of all three maps by owner. */
  const counts = new Map<string, number>()

  const add = <T>(map: Map<string, T>, scope: string, value: T): void => {
    if (!map.has(scope)) {
      const owner = ownerOf(scope)
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
    }
    map.set(scope, value)
  }
  const remove = <T>(map: Map<string, T>, scope: string): void => {
    if (!map.delete(scope)) return
    const owner = ownerOf(scope)
    const left = (counts.get(owner) ?? 0) - 1
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }
  const drop = (map: Map<string, KeyState>, scope: string, actionId: string): void => {
    if (map.get(scope)?.actionId === actionId) remove(map, scope)
  }
  /** Those whose time is over and which no line has swept yet. */
  const expired = (owner: string, time: number): number => {
    let over = 0
    for (const [scope, { at }] of concluded) {
      if (at > time - ttlMs) break
      if (ownerOf(scope) === owner) over++
    }
    return over
  }
  return {
    holder(scope: string, time: number): KeyState | null {
      const holder = held.get(scope) ?? inFlight.get(scope)
      if (holder !== undefined) return holder
      const over = concluded.get(scope)
      return over === undefined || over.at <= time - ttlMs ? null : over.state
    },
    /** Whether this key's owner may have no further one. */
    isFull(scope: string, time: number): boolean {
      const owner = ownerOf(scope)
      const count = counts.get(owner) ?? 0
      return count >= perAgent && count - expired(owner, time) >= perAgent
    },
    hold: (scope: string, state: KeyState) => add(held, scope, state),
    unhold: (scope: string, actionId: string) => drop(held, scope, actionId),
    dispatch: (scope: string, state: KeyState) => add(inFlight, scope, state),
    release: (scope: string, actionId: string) => drop(inFlight, scope, actionId),
    conclude(scope: string, state: KeyState, at: number): void {
      drop(inFlight, scope, state.actionId)
      remove(concluded, scope)
      add(concluded, scope, { state, at })
    },
    prune(time: number): void {
      for (const [scope, { at }] of concluded) {
        if (at > time - ttlMs) return
        remove(concluded, scope)
      }
    },
    /** Keys in flight are not here: they come back with their actions. */
    dump(time: number): Dump['keys'] {
      return [...concluded]
        .filter(([, { at }]) => at > time - ttlMs)
        .map(([scope, { at, state }]) => [at, scope, state] as const)
        .sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    },
    load(dump: Dump['keys']): void {
      for (const map of [held, inFlight, concluded, counts]) map.clear()
      for (const [at, scope, state] of dump) add(concluded, scope, { at, state })
    },
  }
}
