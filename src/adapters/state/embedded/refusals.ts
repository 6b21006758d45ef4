import type { Approval } from '../../../ports/state.js'
import { sweeper } from './maps.js'

type Refusal = { readonly approvalId: string; readonly until: number }

const keyOf = (agent: string, identity: string): string => `${agent}\0${identity}`

/** Of each call that a person refused, the refusal that stands longest. */
export function createRefusals() {
  const refusals = new Map<string, Refusal>()
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
      if (longer) refusals.set(key, { approvalId, until })
    },
    find(agent: string, identity: string, time: number): string | null {
      const known = refusals.get(keyOf(agent, identity))
      return known !== undefined && time < known.until ? known.approvalId : null
    },
    forget: (agent: string, identity: string) => refusals.delete(keyOf(agent, identity)),
    sweep: sweeper(refusals, ({ until }, time) => until <= time),
    clear: () => refusals.clear(),
  }
}
