import type { Approval } from '../../../ports/state.js'
import { sweeper } from './maps.js'

type Refusal = { readonly agent: string; readonly approvalId: string; readonly until: number }

const keyOf = (agent: string, identity: string): string => `${agent}\0${identity}`

/** Of each call that a person refused, the refusal that stands longest. */
export function createRefusals() {
  const refusals = new Map<string, Refusal>()
  /** Agents that have any. */
  const counts = new Map<string, number>()

  function count(agent: string, more: 1 | -1): void {
    const now = (counts.get(agent) ?? 0) + more
    if (now > 0) counts.set(agent, now)
    else counts.delete(agent)
  }

  return {
    note({ agent, callIdentity, refusedUntil, approvalId }: Approval): void {
      if (callIdentity === null || refusedUntil === null) return
      const key = keyOf(agent, callIdentity)
      const until = Date.parse(refusedUntil)
      const known = refusals.get(key)
      // Of two that end together the later id, so that a fold and a dump come to the same.
      const longer =
        known === undefined ||
        until > known.until ||
        (until === known.until && approvalId > known.approvalId)
      if (!longer) return
      if (known === undefined) count(agent, 1)
      refusals.set(key, { agent, approvalId, until })
    },
    /** The identities are asked for only where the agent has a refusal. */
    find(agent: string, identities: () => readonly string[], time: number): string | null {
      if (!counts.has(agent)) return null
      for (const identity of identities()) {
        const known = refusals.get(keyOf(agent, identity))
        if (known !== undefined && time < known.until) return known.approvalId
      }
      return null
    },
    forget(agent: string, identity: string): void {
      if (refusals.delete(keyOf(agent, identity))) count(agent, -1)
    },
    sweep: sweeper(refusals, ({ agent, until }, time) => {
      const isOver = until <= time
      if (isOver) count(agent, -1)
      return isOver
    }),
    clear(): void {
      refusals.clear()
      counts.clear()
    },
  }
}
