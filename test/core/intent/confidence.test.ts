import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { roundedDown } from '../../../src/core/intent/confidence.js'
import { draws } from '../../support/draws.js'

describe('confidence', () => {
  it.each([
    ['0', '0.0'],
    ['-0', '0.0'],
    ['-0.000e9', '0.0'],
    ['0.5', '0.5'],
    ['0.50', '0.5'],
    ['0.8', '0.8'],
    ['0.79996', '0.7999'],
    ['0.79999999999999999999999999999', '0.7999'],
    ['0.99999999999999999999999999999', '0.9999'],
    ['1', '1.0'],
    ['1.0', '1.0'],
    ['1e0', '1.0'],
    ['10e-1', '1.0'],
    ['0.1E1', '1.0'],
    ['0.01e+2', '1.0'],
    ['100000e-5', '1.0'],
    ['8e-1', '0.8'],
    ['0.0001', '0.0001'],
    ['0.00009999', '0.0'],
    ['1e-4', '0.0001'],
    ['1e-5', '0.0'],
    ['5e-324', '0.0'],
    [`1e-${'9'.repeat(400)}`, '0.0'],
    [`0e${'9'.repeat(400)}`, '0.0'],
    ['0.0100', '0.01'],
  ])('%s is %s', (token, expected) => {
    expect(roundedDown(token)).toBe(expected)
  })

  it.each([
    '1.0000000000000000000000000001',
    '1.0001',
    '2',
    '11e-1',
    '10',
    '1e1',
    '0.1e2',
    '-0.1',
    '-1e-400',
    `1e${'9'.repeat(400)}`,
    'NaN',
    'Infinity',
    '.5',
    '1.',
    '',
  ])('%s is out of range', (token) => {
    expect(roundedDown(token)).toBeNull()
  })

  it('is the floor that exact arithmetic gives, however the number is written', () => {
    const numbers = fc.tuple(
      fc.bigInt({ min: -5n, max: 10n ** 12n }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: -20, max: 8 }),
    )
    fc.assert(
      fc.property(numbers, ([units, scale, exponent]) => {
        const negative = units < 0n
        const digits = (negative ? -units : units).toString().padStart(scale + 1, '0')
        const whole = digits.slice(0, digits.length - scale)
        const fraction = scale === 0 ? '' : `.${digits.slice(digits.length - scale)}`
        const token = `${negative ? '-' : ''}${whole}${fraction}${exponent === 0 ? '' : `e${exponent}`}`
        // In units of 10^-(20 + 20), in which every drawn number is whole.
        const exact = units * 10n ** BigInt(40 + exponent - scale)
        const one = 10n ** 40n
        const floor = exact / 10n ** 36n
        const text = roundedDown(token)
        if (exact < 0n || exact > one) return expect(text).toBeNull()
        expect(text).toMatch(/^(?:0\.\d{1,4}|1\.0)$/)
        // Shortest, so that equal values have equal texts.
        expect(text).not.toMatch(/\.\d+0$/)
        expect(BigInt((text ?? '').replace('.', '').padEnd(5, '0'))).toBe(floor)
      }),
      { numRuns: draws(20_000, 3000) },
    )
  })
})
