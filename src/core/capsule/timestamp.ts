const FORM = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Seed §5.1: RFC 3339, UTC, upper-case `Z`; a day that exists, a leap second only where one can be. */
export function isUtcTimestamp(text: string): boolean {
  if (!FORM.test(text)) return false
  const part = (from: number, to: number): number => Number(text.slice(from, to))
  const [year, month, day] = [part(0, 4), part(5, 7), part(8, 10)]
  const [hour, minute, second] = [part(11, 13), part(14, 16), part(17, 19)]
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0)
  if (day < 1 || day > days || hour > 23 || minute > 59) return false
  return second <= 59 || (second === 60 && hour === 23 && minute === 59)
}
