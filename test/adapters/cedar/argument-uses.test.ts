import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, it } from '@jest/globals'
import { type ArgumentUse, usesOf } from '../../../src/adapters/cedar/load/argument-buckets.js'

const looks = (condition: string): ReadonlyMap<string, ArgumentUse> | null => {
  const parsed = cedar.policyToJson(`permit (principal, action, resource) when { ${condition} };`)
  if (parsed.type !== 'success') throw new Error(JSON.stringify(parsed.errors))
  return usesOf(parsed.json)
}
const reads = (condition: string) => {
  const found = looks(condition)
  return found === null ? null : [...found.keys()].sort()
}

describe('what a policy looks at', () => {
  it.each([
    ['true', []],
    ['context.approval.granted', []],
    ['principal.developer == "x" && resource.irreversibility like "two*"', []],
    ['context.args.amount.greaterThan(decimal("1.0"))', ['amount']],
    ['context.args has note && context.args.note == "a"', ['note']],
    ['if context.args has b then context.args.a == 1 else !(context.args.c == 2)', ['a', 'b', 'c']],
    ['["x", context.args.currency].contains("EUR")', ['currency']],
    ['{a: context.args.n}.a == 1', ['n']],
    ['context.args["odd name"] == "x"', ['odd name']],
    ['context has args.deep', ['deep']],
  ])('%s', (condition, names) => {
    expect(reads(condition)).toEqual(names)
  })

  it.each([
    'context.args == {a: 1}',
    'context == {}',
    '(if true then context.args else {a: 1}).a == 1',
    '[context].contains(context)',
  ])('takes everything: %s', (condition) => {
    expect(reads(condition)).toBeNull()
  })
})

describe('how a policy looks at an argument', () => {
  const decimal = (text: string): string => `context.args.d.lessThan(decimal("${text}"))`
  it.each<[string, string, ArgumentUse]>([
    ['context.args.n > 5', 'n', [5]],
    ['5 >= context.args.n', 'n', [5]],
    ['context.args.n == 1 || context.args.n < 7 && context.args.n <= 1', 'n', [1, 7]],
    [decimal('1.5'), 'd', [15_000]],
    [`${decimal('-1.5')} || context.args.d == decimal("2.0001")`, 'd', [-15_000, 20_001]],
    [decimal('922337203685477.5807'), 'd', [9_223_372_036_854_775_807n]],
    ['context.args has n && context.args.n > 2', 'n', [2]],
    ['context.args has n', 'n', []],
    // Anything but a comparison with a constant takes the value as it is.
    ['context.args.n > 5 && context.args.n + 1 > 6', 'n', 'value'],
    ['context.args.n > context.args.m', 'n', 'value'],
    ['context.args.s == "EUR"', 's', 'value'],
    ['context.args.n == -3', 'n', [-3]],
    // Read as a JavaScript number it would be another one.
    ['context.args.n < 9007199254740993', 'n', 'value'],
    ['[1, 2].contains(context.args.n)', 'n', 'value'],
  ])('%s', (condition, name, look) => {
    expect(looks(condition)?.get(name)).toEqual(look)
  })
})
