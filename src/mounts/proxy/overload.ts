import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Sheds before reading while the event loop is late: an answer nobody waits for helps nobody. */
export type Overload = { shedding(): boolean; close(): void }

const LOOK_EVERY_MS = 500
/** One long pause is a garbage collection or a large policy set; two looks in a row are load. */
const LATE_LOOKS = 2

export function watchOverload(maxDelayMs: number): Overload {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let late = 0
  const timer = setInterval(() => {
    late = delay.percentile(90) / 1e6 > maxDelayMs ? late + 1 : 0
    delay.reset()
  }, LOOK_EVERY_MS).unref()
  return {
    shedding: () => late >= LATE_LOOKS,
    close() {
      clearInterval(timer)
      delay.disable()
    },
  }
}
