import type { KeyState } from '../../../ports.js'

/** A key's claim that is over, until its time is. */
type Concluded = { readonly state: KeyState; readonly at: number }
export type KeyDump = readonly [at: number, scope: string, state: KeyState]

export const keyScope = (operator: string, agent: string, key: string): string =>
  JSON.stringify([operator, agent, key])

export type Keys = ReturnType<typeof createKeys>

/**
 * Idempotency keys (DESIGN §3): claimed while an action is in flight, then completed or unknown until
 * the key's time is over. Claims by reservation alone (`held`) are no part of a dump.
 */
export function createKeys(ttlMs: number) {
  const held = new Map<string, KeyState>()
  const inFlight = new Map<string, KeyState>()
  /** In order of conclusion, so the oldest stand first. */
  const concluded = new Map<string, Concluded>()

  const claim = (map: Map<string, KeyState>, scope: string, state: KeyState): void => {
    map.set(scope, state)
  }
  const drop = (map: Map<string, KeyState>, scope: string, actionId: string): void => {
    if (map.get(scope)?.actionId === actionId) map.delete(scope)
  }
  return {
    holder(scope: string, time: number): KeyState | null {
      const claimed = held.get(scope) ?? inFlight.get(scope)
      if (claimed !== undefined) return claimed
      const over = concluded.get(scope)
      return over === undefined || over.at <= time - ttlMs ? null : over.state
    },
    hold: (scope: string, state: KeyState) => claim(held, scope, state),
    unhold: (scope: string, actionId: string) => drop(held, scope, actionId),
    dispatch: (scope: string, state: KeyState) => claim(inFlight, scope, state),
    release: (scope: string, actionId: string) => drop(inFlight, scope, actionId),
    conclude(scope: string, state: KeyState, at: number): void {
      drop(inFlight, scope, state.actionId)
      concluded.delete(scope)
      concluded.set(scope, { state, at })
    },
    prune(time: number): void {
      for (const [scope, { at }] of concluded) {
        if (at > time - ttlMs) return
        concluded.delete(scope)
      }
    },
    /** Keys in flight are not here: they come back with their actions. */
    dump(time: number): KeyDump[] {
      return [...concluded]
        .filter(([, { at }]) => at > time - ttlMs)
        .map(([scope, { at, state }]) => [at, scope, state] as const)
        .sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    },
    load(dump: readonly KeyDump[]): void {
      for (const map of [held, inFlight, concluded]) map.clear()
      for (const [at, scope, state] of dump) concluded.set(scope, { at, state })
    },
  }
}
