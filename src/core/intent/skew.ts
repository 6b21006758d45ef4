/** Milliseconds of a UTC timestamp, with its fraction. NaN for what is none. */
function millisOf(timestamp: string): number {
  const seconds = timestamp.slice(0, 19)
  const fraction = /^\.([0-9]+)Z$/.exec(timestamp.slice(19))?.[1] ?? '0'
  // No platform reads a leap second; it is told by the second after the one before it.
  const isLeap = seconds.endsWith(':60')
  const whole = Date.parse(`${isLeap ? `${seconds.slice(0, 17)}59` : seconds}Z`)
  return whole + (isLeap ? 1000 : 0) + Number(`0.${fraction}`) * 1000
}

/** Whether the two times are at most so many seconds apart, either way. */
export const withinSkew = (timestamp: string, at: string, seconds: number): boolean =>
  Math.abs(millisOf(timestamp) - millisOf(at)) <= seconds * 1000
