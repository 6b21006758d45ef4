import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Sheds before reading while the event loop is late: an answer nobody waits for helps nobody. */
export type Overload = { shedding(): boolean; close(): void }

const LOOK_EVERY_MS = 500

export function watchOverload(maxDelayMs: number): Overload {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let late = false
  const timer = setInterval(() => {
    late = delay.percentile(90) / 1e6 > maxDelayMs
    delay.reset()
  }, LOOK_EVERY_MS).unref()
  return {
    shedding: () => late,
    close() {
      clearInterval(timer)
      delay.disable()
    },
  }
}
