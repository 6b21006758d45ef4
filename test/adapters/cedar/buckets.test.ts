import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import type { PolicyRule } from '../../../src/adapters/cedar/schema.js'
import { loadedSet, removeFolders } from './folder.js'

/**
 * What one value was decided for, another in the same place among the limits gets from memory. The
 * oracle evaluates each request anew, from text: one wrong place, and some answer differs.
 */
afterAll(removeFolders)

const RULES: readonly PolicyRule[] = [
  {
    tool: 'pay',
    action: 'pay',
    args: { n: { type: 'integer', optional: false }, d: { type: 'decimal', optional: true } },
  },
]
const cents = fc.integer({ min: -12, max: 12 })
/** Around zero, around each other, and where numbers stop being exact. */
const decimals = fc.oneof(
  cents.map((n) => (n / 4).toFixed(2)),
  cents.map((n) => `0.${String(Math.abs(n)).padStart(4, '0')}`),
  fc.constantFrom('922337203685477.5807', '922337203685477.5806', '-922337203685477.5808', '-0.0'),
)
const integers = fc.oneof(cents, fc.constantFrom(2 ** 53 - 1, 2 ** 53 - 2, -(2 ** 53 - 1)))
const comparison = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('lessThan', 'lessThanOrEqual', 'greaterThan', 'greaterThanOrEqual'),
      decimals,
      fc.boolean(),
    )
    .map(([method, limit, turned]) => {
      const sides = ['context.args.d', `decimal("${limit}")`]
      const [a, b] = turned ? sides.reverse() : sides
      return `(if context.args has d then ${a}.${method}(${b}) else false)`
    }),
  decimals.map(
    (limit) => `(if context.args has d then context.args.d == decimal("${limit}") else false)`,
  ),
  fc
    .tuple(fc.constantFrom('<', '<=', '>', '>=', '=='), integers, fc.boolean())
    .map(([op, limit, turned]) =>
      turned ? `${limit} ${op} context.args.n` : `context.args.n ${op} ${limit}`,
    ),
  fc.constantFrom('(if context.args has d then true else false)', 'context.args.n + 1 > 3'),
)
const policies = fc.array(
  fc.tuple(
    fc.constantFrom('permit', 'forbid'),
    fc.constantFrom('principal', 'principal == Agent::"a"'),
    fc.array(comparison, { minLength: 1, maxLength: 2 }),
  ),
  { minLength: 1, maxLength: 5 },
)
const requests = fc.array(
  fc.tuple(fc.constantFrom('a', 'b'), integers, fc.option(decimals, { nil: undefined })),
  { minLength: 5, maxLength: 25 },
)

describe('decisions remembered by place', () => {
  it('are those Cedar makes for the value itself', async () => {
    await fc.assert(
      fc.asyncProperty(policies, requests, async (drawn, asked) => {
        const text = drawn
          .map(
            ([effect, principal, conditions], i) =>
              `@id("p${i}") ${effect} (${principal}, action, resource) when { ${conditions.join(' || ')} };`,
          )
          .join('\n')
        const set = await loadedSet(text, RULES)
        const engine = createCedarEngine({ set, rules: RULES })
        for (const [principal, n, d] of asked) {
          const decided = engine.decide({
            principal,
            roles: [],
            developer: 'x',
            action: 'pay',
            resource: 'pay',
            irreversibility: 'two_way',
            args: d === undefined ? { n } : { n, d },
            approval: { granted: false },
          })
          const plain = cedar.isAuthorized({
            principal: { type: 'Agent', id: principal },
            action: { type: 'Action', id: 'pay' },
            resource: { type: 'Tool', id: 'pay' },
            context: {
              args: d === undefined ? { n } : { n, d: { __extn: { fn: 'decimal', arg: d } } },
              approval: { granted: false },
            },
            policies: {
              staticPolicies: Object.fromEntries(
                set.policies.map(({ id, text: own }) => [id, own]),
              ),
            },
            entities: [],
          })
          if (plain.type !== 'success') throw new Error(JSON.stringify(plain.errors))
          const { decision, diagnostics } = plain.response
          expect(decided).toMatchObject(
            diagnostics.errors.length > 0
              ? { kind: 'error' }
              : {
                  kind: decision === 'allow' ? 'permit' : 'deny',
                  policies: [...diagnostics.reason].sort(),
                },
          )
        }
      }),
      { numRuns: 60 },
    )
  }, 300_000)
})
