import { monitorEventLoopDelay } from 'node:perf_hooks'

const LOOK_EVERY_MS = 500
/** One long pause is a garbage collection or a large policy set; two looks in a row are load. */
const LATE_LOOKS = 2

/** Sheds before reading while the event loop is late: callers give up before a late answer comes. */
export function watchOverload(maxDelayMs: number) {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let late = 0
  const timer = setInterval(() => {
    late = delay.percentile(90) / 1e6 > maxDelayMs ? late + 1 : 0
    delay.reset()
  }, LOOK_EVERY_MS).unref()
  return {
    shedding: (): boolean => late >= LATE_LOOKS,
    close(): void {
      clearInterval(timer)
      delay.disable()
    },
  }
}
