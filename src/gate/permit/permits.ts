import type { Observation } from '../../core/capsule/observation.js'
import type { Answer } from '../answer/answer.js'
import type { Parts } from '../context.js'

/** How a permit ends: reported, or not reported in time, or not before the gate stopped. */
export type PermitEnd = Extract<Observation, { kind: 'claimed' | 'sent' }>
export type Given =
  | { readonly kind: 'given'; readonly deadline: string; readonly ended: Promise<PermitEnd> }
  /** A cause of `not_sent`: nobody was told, so nobody acts. */
  | { readonly kind: 'refused'; readonly cause: 'permits_exhausted' | 'withdrawn' }
export type OpenPermit = {
  /** True for the one that ends it. */
  end(how: PermitEnd): boolean
  /** The answer that its call ended in, once that is on record. */
  readonly concluded: Promise<Answer>
}
export type Permits = {
  /** `concluded` is of the call it is for: until then the permit counts, and is found. */
  give(permit: {
    readonly actionId: string
    readonly agent: string
    readonly ms: number
    readonly concluded: Promise<Answer>
  }): Given
  /** Null for another agent's as for none. */
  find(actionId: string, agent: string): OpenPermit | null
  /** Gives no more, ends those that are open as cut, and resolves when all of them are on record. */
  stop(): Promise<void>
}

/** A looping agent must not fill the memory with permits that it never reports on. */
export const MOST_PERMITS = 64

const cut = (cause: string, deadline: boolean): PermitEnd => ({ kind: 'sent', cause, deadline })

/**
 * Leave to act that was given and is not concluded. Each ends once, whoever is first. A permit cannot be taken
 * back: a halt stops the next one.
 */
export function createPermits({ clock, timer }: Pick<Parts, 'clock' | 'timer'>): Permits {
  const open = new Map<string, OpenPermit & { readonly agent: string }>()
  /** Agents with open permits only. */
  const held = new Map<string, number>()
  let stopped = false

  function count(agent: string, more: 1 | -1): void {
    const now = (held.get(agent) ?? 0) + more
    if (now > 0) held.set(agent, now)
    else held.delete(agent)
  }

  return {
    give({ actionId, agent, ms, concluded }) {
      if (stopped) return { kind: 'refused', cause: 'withdrawn' }
      if ((held.get(agent) ?? 0) >= MOST_PERMITS) {
        return { kind: 'refused', cause: 'permits_exhausted' }
      }
      let settle: ((how: PermitEnd) => void) | null = null
      const ended = new Promise<PermitEnd>((resolve) => {
        settle = resolve
      })
      const end = (how: PermitEnd): boolean => {
        const first = settle
        settle = null
        cancel()
        first?.(how)
        return first !== null
      }
      const cancel = timer.after(ms, () => end(cut('not_reported', true)))
      open.set(actionId, { agent, end, concluded })
      count(agent, 1)
      const forget = (): void => {
        open.delete(actionId)
        count(agent, -1)
      }
      concluded.then(forget, forget)
      const deadline = new Date(clock.now() + ms).toISOString()
      return { kind: 'given', deadline, ended }
    },
    find(actionId, agent) {
      const found = open.get(actionId)
      return found?.agent === agent ? found : null
    },
    async stop() {
      stopped = true
      const left = [...open.values()]
      for (const { end } of left) end(cut('gate_stopped', false))
      await Promise.allSettled(left.map(({ concluded }) => concluded))
    },
  }
}
