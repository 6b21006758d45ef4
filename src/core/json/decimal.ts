/**
 * Exact decimals as (unscaled bigint, scale). Money never becomes a JavaScript number: a value is a
 * decimal string, or a JSON number's own token.
 */
export type Decimal = { readonly units: bigint; readonly scale: number }

const FORM = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/
const MAX_DIGITS = 64

/** Plain notation only: no exponent, no leading zeros or plus. Null otherwise, and past 64 digits. */
export function parseDecimal(text: string): Decimal | null {
  const match = FORM.exec(text)
  if (match === null || text.length > MAX_DIGITS) return null
  const fraction = match[3] ?? ''
  const units = BigInt(`${match[2]}${fraction}`)
  return { units: match[1] === '-' ? -units : units, scale: fraction.length }
}

function align(a: Decimal, b: Decimal): [bigint, bigint, number] {
  if (a.scale === b.scale) return [a.units, b.units, a.scale]
  const scale = Math.max(a.scale, b.scale)
  return [a.units * 10n ** BigInt(scale - a.scale), b.units * 10n ** BigInt(scale - b.scale), scale]
}

export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const [x, y] = align(a, b)
  return x < y ? -1 : x > y ? 1 : 0
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const [x, y, scale] = align(a, b)
  return { units: x + y, scale }
}

export const negateDecimal = (a: Decimal): Decimal => ({ units: -a.units, scale: a.scale })

/** Shortest plain form: trailing fraction zeros go, so equal values print equally. */
export function formatDecimal({ units, scale }: Decimal): string {
  const negative = units < 0n
  const digits = (negative ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** The same of a text, without the arithmetic where nothing has to go; null: not a plain decimal. */
export function shortestDecimal(text: string): string | null {
  if (text.length > MAX_DIGITS || !FORM.test(text)) return null
  const last = text.charCodeAt(text.length - 1)
  // A zero at the end may be one of the fraction, or all there is beside a sign.
  if (last !== ZERO) return text
  const decimal = parseDecimal(text)
  return decimal === null ? null : formatDecimal(decimal)
}
const ZERO = 0x30
