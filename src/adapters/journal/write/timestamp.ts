import type { Clock } from '../../../ports/clock.js'

/** Now as RFC 3339 with milliseconds, never before what was given out or read earlier. */
export function createStamp(clock: Pick<Clock, 'now'>, last: string): () => string {
  let given = last
  let givenMs = last === '' ? -Infinity : Date.parse(last)
  return () => {
    const now = clock.now()
    if (now > givenMs) {
      givenMs = now
      given = new Date(now).toISOString()
    }
    return given
  }
}
