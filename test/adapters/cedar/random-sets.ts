import fc from 'fast-check'
import type { PolicyRule } from '../../../src/adapters/cedar/schema.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'

/** Policy sets and requests that meet often: few names, every form of a head, conditions that hold and do not. */
const ARGS = {
  n: { type: 'integer', optional: false },
  s: { type: 'string', optional: true },
  d: { type: 'decimal', optional: true },
} as const
const ACTIONS = ['read', 'write', 'drop', 'pay']
export const RULES: readonly PolicyRule[] = ACTIONS.map((action) => ({
  tool: action,
  action,
  args: ARGS,
}))

const action = fc.constantFrom(...ACTIONS)
const scope = fc.record({
  principal: fc.constantFrom(
    'principal',
    'principal == Agent::"a"',
    'principal in Role::"r"',
    'principal in Agent::"a"',
    'principal is Agent',
    'principal is Agent in Role::"r"',
  ),
  action: fc.oneof(
    fc.constant('action'),
    action.map((a) => `action == Action::"${a}"`),
    fc
      .uniqueArray(action, { minLength: 1, maxLength: 3 })
      .map((list) => `action in [${list.map((a) => `Action::"${a}"`).join(', ')}]`),
  ),
  resource: fc.constantFrom(
    'resource',
    'resource == Tool::"x"',
    'resource in Tool::"x"',
    'resource is Tool',
  ),
})
export const CONDITIONS = [
  '',
  'when { context.args.n > 2 }',
  'when { if context.args has s then context.args.s == "x" else true }',
  'when { if context.args has d then context.args.d.lessThan(decimal("1.5")) else false }',
  'when { context.approval.granted }',
  'unless { context.args.n == 1 }',
  'when { principal.developer == "acme" || resource.irreversibility == "two_way" }',
  'when { context.args.n * 4611686018427387904 > 0 }',
]
export const APPROVED = 'unless { context.approval.granted }'
const policy = fc.record({
  scope,
  kind: fc.constantFrom('permit', 'permit', 'forbid', 'hem'),
  observe: fc.boolean(),
  condition: fc.constantFrom(...CONDITIONS),
})
export const setText = fc.array(policy, { minLength: 1, maxLength: 8 }).map((list) =>
  list
    .map(({ scope: s, kind, observe, condition }, index) => {
      const head = `@id("p${index}") ${observe ? '@mode("observe")' : ''} ${kind === 'hem' ? '@hem("required") forbid' : kind}`
      const tail = kind === 'hem' ? APPROVED : ''
      return `${head} (${s.principal}, ${s.action}, ${s.resource}) ${condition} ${tail};`
    })
    // Approved and not approved at once: the loader rightly refuses what can never apply.
    .filter((text) => !(text.includes('when { context.approval') && text.includes(APPROVED)))
    .join('\n'),
)
export const request: fc.Arbitrary<PolicyRequest> = fc.record({
  principal: fc.constantFrom('a', 'b'),
  roles: fc.subarray(['r', 'q']),
  developer: fc.constantFrom('acme', 'other'),
  action,
  resource: fc.constantFrom('x', 'y'),
  irreversibility: fc.constantFrom('two_way', 'one_way_terminal'),
  args: fc.record(
    {
      n: fc.integer({ min: 0, max: 4 }),
      s: fc.constantFrom('x', 'y'),
      d: fc.constantFrom('1.4999', '1.5', '-3'),
    },
    { requiredKeys: ['n'] },
  ),
  approval: fc.record({ granted: fc.boolean() }),
})
