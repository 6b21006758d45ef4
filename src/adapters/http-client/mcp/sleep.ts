import { setTimeout as wait } from 'node:timers/promises'

/** The longest that a timer can sleep. */
const LONGEST_MS = 2 ** 31 - 1

/** Resolves early when the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await wait(Math.min(LONGEST_MS, Math.max(0, ms)), undefined, { signal }).catch(() => {})
}
