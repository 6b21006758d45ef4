import { performance } from 'node:perf_hooks'

/** How work behind the running gate leaves the loop to calls; several pieces of it share one pace. */
export type Pace = {
  /** Null while this slice of work may go on; else what to wait for before the next one. */
  rest(): Promise<void> | null
  /** Ends every wait that is under way; nothing waits from here on. */
  stop(): void
}

const SLICE_MS = 3
/** So many times as long as it worked it waits: about a tenth of one processor, however much there is to do. */
const WAITS = 9

export function createPace(): Pace {
  let since = performance.now()
  let stopped = false
  const waiting = new Set<() => void>()
  return {
    rest() {
      const worked = performance.now() - since
      if (stopped || worked < SLICE_MS) return null
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timeout)
          waiting.delete(done)
          since = performance.now()
          resolve()
        }
        const timeout = setTimeout(done, worked * WAITS).unref()
        waiting.add(done)
      })
    },
    stop() {
      stopped = true
      for (const done of [...waiting]) done()
    },
  }
}
