const FORM = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?Z$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Seed §5.1: RFC 3339, UTC, upper-case `Z`; a day that exists, a leap second only where one can be. */
export function isUtcTimestamp(text: string): boolean {
  const match = FORM.exec(text)
  if (match === null) return false
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0)
  if (day < 1 || day > days || hour > 23 || minute > 59) return false
  return second <= 59 || (second === 60 && hour === 23 && minute === 59)
}
