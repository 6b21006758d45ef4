/**
 * Numbers as CPython's `json` reads and writes them: a token with a point or an exponent is a double and comes out as
 * `repr` prints it, any other is an integer of whatever length. Null where CPython has no number for it, or none that is
 * JSON: beyond the range of a double, or longer than the digits it converts.
 */
export function pythonNumber(token: string): string | null {
  if (/[.eE]/.test(token)) return pythonFloat(Number(token))
  const digits = token.startsWith('-') ? token.slice(1) : token
  if (digits.length > MOST_DIGITS) return null
  return digits === '0' ? '0' : token
}

/** `sys.int_info.default_max_str_digits`. */
const MOST_DIGITS = 4300

/** `repr(float)`: the shortest digits that read back as the same double, with an exponent outside 1e-4 to 1e16. */
export function pythonFloat(value: number): string | null {
  if (!Number.isFinite(value)) return null
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', power = '0'] = value.toExponential().split('e')
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 16) {
    const fixed = String(value)
    return fixed.includes('.') ? fixed : `${fixed}.0`
  }
  const sign = exponent < 0 ? '-' : '+'
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}
