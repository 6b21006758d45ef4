const SECOND = 1000
const HOUR = 3600 * SECOND

/** Waits after failed attempts (Standard Webhooks 1.0): 5 s, 5 min, 30 min, then 2, 5, 10, 14, 20 and 24 h. */
const WAITS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * SECOND)
export const MAX_TRIES = WAITS.length + 1
/** A receiver may delay the next attempt by at most this. */
const LONGEST_RETRY_AFTER = HOUR
const JITTER = 0.2
const SHORTEST = 5 * SECOND

type Failed = {
  /** Attempts made so far, this one included. */
  readonly tries: number
  readonly now: number
  readonly deadline: number | null
  readonly retryAfter: number | null
  /** 0 ≤ random < 1 */
  readonly random: number
}

/**
 * When to try again, or why not. Before a deadline no wait is longer than half the time that is left:
 * the attempts close in on it instead of ending at a step that lies behind it.
 */
export function nextTry(failed: Failed): number | 'exhausted' | 'deadline' {
  const { tries, now, deadline, retryAfter, random } = failed
  const step = WAITS[tries - 1]
  if (step === undefined) return 'exhausted'
  const own = step * (1 + JITTER * random)
  const wanted = Math.max(own, Math.min(retryAfter ?? 0, LONGEST_RETRY_AFTER))
  if (deadline === null) return Math.ceil(now + wanted)
  const wait = Math.min(wanted, (deadline - now) / 2)
  return wait < SHORTEST ? 'deadline' : Math.ceil(now + wait)
}

/** RFC 9110 §10.2.3: seconds, or a date; anything else says nothing. */
export function retryAfterMs(value: string | undefined, now: number): number | null {
  if (value === undefined) return null
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * SECOND
  const date = /^[A-Za-z]{3}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
