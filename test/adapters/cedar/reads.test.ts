import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, it } from '@jest/globals'
import { argsRead } from '../../../src/adapters/cedar/expression.js'

const reads = (condition: string) => {
  const parsed = cedar.policyToJson(`permit (principal, action, resource) when { ${condition} };`)
  if (parsed.type !== 'success') throw new Error(JSON.stringify(parsed.errors))
  return argsRead(parsed.json)
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
