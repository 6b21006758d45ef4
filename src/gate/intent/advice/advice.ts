/**
 * How often a session is told what else it may do: a stream of refusals must be no way to learn the policies, nor to
 * keep the gate busy (seed intent-declaration-primitive-01 §8.3).
 */
export type Advice = {
  mayAdvise(sessionId: string, at: number): boolean
}

const PER_MINUTE = 20
const WINDOW_MS = 60_000
/** Sessions counted at once; beyond them the oldest begin anew. */
const MOST = 10_000

export function createAdvice(): Advice {
  const windows = new Map<string, { since: number; given: number }>()
  return {
    mayAdvise(sessionId, at) {
      const known = windows.get(sessionId)
      if (known !== undefined && at - known.since < WINDOW_MS) {
        known.given++
        return known.given <= PER_MINUTE
      }
      windows.delete(sessionId)
      windows.set(sessionId, { since: at, given: 1 })
      const [oldest] = windows.keys()
      if (windows.size > MOST && oldest !== undefined) windows.delete(oldest)
      return true
    },
  }
}
