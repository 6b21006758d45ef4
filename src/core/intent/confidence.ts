/** A JSON number as its parts; the parser lets no other token through. */
const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/
const DIGITS = 4

/**
 * The confidence that a JSON number's token states, rounded down to the four digits Cedar's decimals have:
 * `0.79996` is `0.7999`, so that rounding never satisfies a policy. Equal values get equal texts, with at least
 * one digit behind the point. Null: not in 0 to 1 (seed intent-declaration-primitive-01 §4.2). Only digits are
 * moved, because a floating-point number would round.
 */
export function roundedDown(token: string): string | null {
  const match = NUMBER.exec(token)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  if (digits === '') return '0.0'
  if (sign === '-') return null
  // The value is 0.DIGITS times ten to this power.
  const power = BigInt(exponent) + BigInt(digits.length - fraction.length)
  if (power > 0n) return power === 1n && /^10*$/.test(digits) ? '1.0' : null
  if (power <= BigInt(-DIGITS)) return '0.0'
  const kept = `${'0'.repeat(Number(-power))}${digits}`.slice(0, DIGITS).replace(/0+$/, '')
  return kept === '' ? '0.0' : `0.${kept}`
}
