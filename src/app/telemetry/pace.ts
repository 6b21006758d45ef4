import { performance } from 'node:perf_hooks'

/** How work behind the running gate leaves the loop to calls. */
export type Pace = {
  /** Null while this slice of work may go on; else what to wait for before the next one. */
  rest(): Promise<void> | null
  /** Ends a wait that is under way. */
  stop(): void
}

const SLICE_MS = 3
/** So many times as long as it worked it waits: about a tenth of one processor, however much there is to do. */
const WAITS = 9

export function createPace(): Pace {
  let since = performance.now()
  let wake: (() => void) | null = null
  return {
    rest() {
      const worked = performance.now() - since
      if (worked < SLICE_MS) return null
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timeout)
          wake = null
          since = performance.now()
          resolve()
        }
        const timeout = setTimeout(done, worked * WAITS).unref()
        wake = done
      })
    },
    stop: () => wake?.(),
  }
}
