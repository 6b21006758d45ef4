export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/
const TIME = /^([01][0-9]|2[0-3]):([0-5][0-9])$/
const MINUTES_A_DAY = 1440

/** Minutes since midnight of `HH:MM`, or null. */
export function minutesOf(time: string): number | null {
  const parts = TIME.exec(time)
  return parts === null ? null : Number(parts[1]) * 60 + Number(parts[2])
}

/**
 * From (included) until (excluded), in UTC. A window that passes midnight belongs to the day on which
 * it opened. Null when a part cannot be read.
 */
export function inTimeWindow(
  now: string,
  from: string,
  until: string,
  days: readonly string[] | null,
): boolean | null {
  const at = TIMESTAMP.test(now) ? Date.parse(now) : Number.NaN
  const opens = minutesOf(from)
  const closes = minutesOf(until)
  if (Number.isNaN(at) || opens === null || closes === null || opens === closes) return null
  const minute = Math.floor(at / 60_000) % MINUTES_A_DAY
  const weekday = new Date(at).getUTCDay()
  const overnight = opens > closes
  const inside = overnight ? minute >= opens || minute < closes : minute >= opens && minute < closes
  if (!inside || days === null) return inside
  const openedOn = overnight && minute < closes ? (weekday + 6) % 7 : weekday
  return days.includes(DAYS[openedOn] as string)
}
