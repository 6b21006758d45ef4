import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  formatDecimal,
  negateDecimal,
  parseDecimal,
  shortestDecimal,
} from '../../../src/core/json/decimal.js'

const read = (text: string): Decimal => {
  const value = parseDecimal(text)
  if (value === null) throw new Error(text)
  return value
}
const cents = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
const scale = fc.integer({ min: 0, max: 12 })

describe('decimals', () => {
  it('shortens a text as reading and printing it would', () => {
    const written = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.stringMatching(/^(?:0|[1-9][0-9]{0,34})$/),
        fc.stringMatching(/^(?:|\.[0-9]{1,34}|\.[0-9]{0,6}0{1,9}|\.)$/),
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(written, fc.string()), (text) => {
        const decimal = parseDecimal(text)
        expect(shortestDecimal(text)).toBe(decimal === null ? null : formatDecimal(decimal))
      }),
      {
        numRuns: 1000,
        examples: [['-0'], ['-0.0'], ['0'], ['10'], ['1.10'], ['-10.00'], ['1.01']],
      },
    )
  })

  it('reads plain notation only', () => {
    const bad = [
      '',
      '-',
      '+1',
      '1.',
      '.1',
      '01',
      '-01',
      '1e2',
      '1,0',
      ' 1',
      '1 ',
      '1\n',
      '٣',
      '0x1',
      'NaN',
    ]
    expect(bad.filter((text) => parseDecimal(text) !== null)).toEqual([])
    expect(parseDecimal('9'.repeat(64))).not.toBeNull()
    expect(parseDecimal('9'.repeat(65))).toBeNull()
  })

  it('compares by value: 5000.00 equals 5000, and 0.1 + 0.2 is 0.3', () => {
    expect(compareDecimals(read('5000.00'), read('5000'))).toBe(0)
    expect(compareDecimals(read('5000.01'), read('5000'))).toBe(1)
    expect(compareDecimals(read('-0'), read('0.000'))).toBe(0)
    expect(formatDecimal(addDecimals(read('0.1'), read('0.2')))).toBe('0.3')
  })

  it('orders and adds exactly as integers of the same scale do', () => {
    fc.assert(
      fc.property(cents, cents, scale, (a, b, s) => {
        const [x, y]: [Decimal, Decimal] = [
          { units: a, scale: s },
          { units: b, scale: s },
        ]
        expect(compareDecimals(x, y)).toBe(a < b ? -1 : a > b ? 1 : 0)
        expect(formatDecimal(addDecimals(x, y))).toBe(formatDecimal({ units: a + b, scale: s }))
        expect(formatDecimal(addDecimals(x, negateDecimal(x)))).toBe('0')
      }),
    )
  })

  it('prints what reads back, equal values equally', () => {
    fc.assert(
      fc.property(cents, scale, fc.integer({ min: 0, max: 5 }), (units, s, more) => {
        const text = formatDecimal({ units, scale: s })
        expect(compareDecimals(read(text), { units, scale: s })).toBe(0)
        expect(formatDecimal({ units: units * 10n ** BigInt(more), scale: s + more })).toBe(text)
      }),
    )
  })
})
