import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { toCedar } from '../../../src/adapters/cedar/evaluate/values.js'
import { compareDecimals, parseDecimal } from '../../../src/core/json/decimal.js'

const argOf = (value: unknown): string | null => {
  const converted = toCedar('decimal', value)
  if (!converted.ok) return null
  return (converted.value as { __extn: { arg: string } }).__extn.arg
}
const accepts = (arg: string): boolean =>
  cedar.checkParseContext({ context: { d: { __extn: { fn: 'decimal', arg } } } }).type === 'success'

describe('a decimal', () => {
  it.each([
    ['5', '5.0'],
    ['-0', '0.0'],
    ['0.0000', '0.0'],
    ['12.3400', '12.34'],
    ['1.10000', '1.1'],
    ['922337203685477.5807', '922337203685477.5807'],
    ['-922337203685477.5808', '-922337203685477.5808'],
  ])('%s is Cedar’s %s', (text, arg) => {
    expect(argOf(text)).toBe(arg)
    expect(argOf({ __extn: { fn: 'decimal', arg: text } })).toBe(arg)
  })

  it.each([
    '0.00001',
    '0.79996',
    '922337203685477.5808',
    '-922337203685477.5809',
    '1e3',
    '+1',
    '01',
    '.5',
    '1.',
    '',
    ' 1',
    '1,5',
    'NaN',
    '١',
  ])('%j is refused, not rounded', (text) => {
    expect(argOf(text)).toBe(null)
  })

  it.each([
    [1],
    [1.5],
    [1n],
    [true],
    [null],
    [['1.0']],
    [{ __extn: { fn: 'ip', arg: '1.0' } }],
    [{ __extn: { fn: 'decimal', arg: 1 } }],
    [{ __extn: { fn: 'decimal', arg: '1.0', more: 1 } }],
    [{ __extn: { fn: 'decimal', arg: '1.0' }, more: 1 }],
    [{ __entity: { type: 'Agent', id: 'root' } }],
  ])('%p is refused', (value) => {
    expect(argOf(value)).toBe(null)
  })

  it('keeps its value whenever it is taken, is taken whenever Cedar can hold it, and Cedar agrees', () => {
    const digits = fc.stringMatching(/^[0-9]{1,6}$/)
    const whole = fc.bigInt({ min: -(2n ** 63n) / 5000n, max: 2n ** 63n / 5000n })
    fc.assert(
      fc.property(whole, fc.option(digits), (integer, fraction) => {
        const text = fraction === null ? `${integer}` : `${integer}.${fraction}`
        const value = parseDecimal(text)
        if (value === null) throw new Error(text)
        const units = value.units * 10n ** BigInt(10 - value.scale)
        const fits =
          units % 10n ** 6n === 0n &&
          units / 10n ** 6n < 2n ** 63n &&
          units / 10n ** 6n >= -(2n ** 63n)
        const arg = argOf(text)
        expect(arg !== null).toBe(fits)
        if (arg === null) return
        const back = parseDecimal(arg)
        expect(back !== null && compareDecimals(back, value)).toBe(0)
        expect(accepts(arg)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the other types', () => {
  it('take their own values and nothing else', () => {
    const samples = [
      'text',
      '',
      7,
      -7,
      true,
      false,
      ['a'],
      [],
      [1],
      ['a', null],
      null,
      undefined,
      1.5,
      2 ** 53,
      -(2 ** 53),
      1n,
      Number.POSITIVE_INFINITY,
      {},
      { length: 0 },
      '\ud83d',
      ['\ude00'],
      () => 1,
      Symbol('x'),
      new Map(),
    ]
    const taken = (type: Parameters<typeof toCedar>[0]) =>
      samples.filter((sample) => toCedar(type, sample).ok)
    expect(taken('string')).toEqual(['text', ''])
    expect(taken('integer')).toEqual([7, -7])
    expect(taken('boolean')).toEqual([true, false])
    expect(taken('strings')).toEqual([['a'], []])
    expect(taken('decimal')).toEqual([])
  })

  it('give an object to Cedar only as our own decimal, whatever comes in', () => {
    const type = fc.constantFrom('string', 'integer', 'boolean', 'strings', 'decimal' as const)
    fc.assert(
      fc.property(
        type,
        fc.anything({ withNullPrototype: true, withSparseArray: true }),
        (t, value) => {
          const converted = toCedar(t, value)
          if (!converted.ok || t === 'decimal') return
          const flat = [converted.value].flat()
          expect(flat.every((element) => typeof element !== 'object')).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})
