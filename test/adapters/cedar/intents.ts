import fc from 'fast-check'
import type { PolicyRule } from '../../../src/adapters/cedar/schema.js'
import type { PolicyIntent, PolicyMandate, PolicyRequest } from '../../../src/ports/policy.js'

/** One action of each kind: `req` requires intent, `opt` may have it, `off` has none. */
const ARGS = {
  n: { type: 'integer', optional: false },
  s: { type: 'string', optional: true },
} as const
export const INTENT_RULES: readonly PolicyRule[] = [
  { tool: 'req', action: 'req', args: ARGS, intent: 'required' },
  { tool: 'opt', action: 'opt', args: ARGS, intent: 'optional' },
  { tool: 'off', action: 'off', args: ARGS },
]

export const STANDARD: PolicyIntent = {
  profile: 'IDP_STANDARD',
  reasoning_type: 'INSTRUCTION',
  confidence_level: '0.8',
  hem_urgency: 'NONE',
  goal_id: '6f0c1a52-6b1e-4b52-8f62-0d5d0a0b7f11',
  mission_ref: '7d8b0f1c-2f7e-4a51-9a3d-7f5f8f1b2c33',
}
export const THIN: PolicyIntent = {
  profile: 'IDP_THIN',
  reasoning_type: null,
  confidence_level: null,
  hem_urgency: null,
  goal_id: null,
  mission_ref: null,
}
export const MANDATE: PolicyMandate = {
  id: 'mandate-1',
  issuer: 'https://issuer.example',
  mission_ref: null,
  depth: 1,
}

export const intentRequest = (
  action: string,
  change: Partial<PolicyRequest> = {},
): PolicyRequest => ({
  principal: 'a',
  roles: [],
  developer: 'acme',
  action,
  resource: action,
  irreversibility: 'two_way',
  args: { n: 1 },
  approval: { granted: false },
  ...change,
})

const standard: fc.Arbitrary<PolicyIntent> = fc.record({
  profile: fc.constant('IDP_STANDARD' as const),
  reasoning_type: fc.constantFrom(null, 'INSTRUCTION', 'INFERENCE'),
  confidence_level: fc.constantFrom(null, '0', '0.7999', '0.8', '0.8000', '0.81', '1'),
  hem_urgency: fc.constantFrom(null, 'NONE', 'REQUIRED'),
  goal_id: fc.constantFrom(null, 'ab', 'x'),
  mission_ref: fc.constantFrom(null, 'm1', 'm2'),
})
const thin: fc.Arbitrary<PolicyIntent> = fc
  .constantFrom(null, 'NONE', 'REQUIRED')
  .map((hem_urgency) => ({ ...THIN, hem_urgency }))
export const idp = fc.oneof({ weight: 4, arbitrary: standard }, { weight: 1, arbitrary: thin })
export const mandate: fc.Arbitrary<PolicyMandate> = fc.record({
  id: fc.constantFrom('m', 'n'),
  issuer: fc.constantFrom('i', 'j'),
  mission_ref: fc.constantFrom(null, 'm1', 'm2'),
  depth: fc.nat({ max: 3 }),
})

/** Requests that fit the schema of their action; little varies, so that most questions come up again. */
export const request: fc.Arbitrary<PolicyRequest> = fc
  .record({
    action: fc.constantFrom('req', 'req', 'opt', 'opt', 'off'),
    principal: fc.constantFrom('a', 'b'),
    granted: fc.boolean(),
    n: fc.nat({ max: 2 }),
    s: fc.option(fc.constantFrom('ab', 'x'), { nil: undefined }),
    idp,
    mandate,
    has: fc.tuple(fc.boolean(), fc.boolean()),
  })
  .map(({ action, principal, granted, n, s, has, ...declared }) => {
    const [hasIdp, hasMandate] = action === 'opt' ? has : [action === 'req', action === 'req']
    return intentRequest(action, {
      principal,
      args: s === undefined ? { n } : { n, s },
      approval: { granted },
      ...(hasIdp ? { idp: declared.idp } : {}),
      ...(hasMandate ? { mandate: declared.mandate } : {}),
    })
  })

/** A test of the context, and what has to be there for it beside declaration and mandate. */
type Atom = {
  readonly of: readonly ('idp' | 'mandate')[]
  readonly has?: string
  readonly test: string
  /** Where declaration and mandate may be absent, and Cedar does not see that the test of them is one. */
  readonly ofOptional?: string
}
const CONFIDENCE = 'context.idp.confidence_level'
const ATOMS: readonly Atom[] = [
  ...['lessThan', 'greaterThanOrEqual'].flatMap((method) =>
    ['0.8', '0.8001'].map((limit) => ({
      of: ['idp' as const],
      has: 'context.idp has confidence_level',
      test: `${CONFIDENCE}.${method}(decimal("${limit}"))`,
    })),
  ),
  {
    of: ['idp'],
    has: 'context.idp has confidence_level',
    test: `${CONFIDENCE} == decimal("0.8")`,
  },
  { of: ['idp'], has: 'context.idp has confidence_level', test: 'context.args.n > 0' },
  { of: ['idp'], test: 'context.idp.profile == "IDP_THIN"' },
  {
    of: ['idp'],
    has: 'context.idp has reasoning_basis',
    test: 'context.idp.reasoning_basis.type == "INSTRUCTION"',
  },
  {
    of: ['idp'],
    has: 'context.idp has reasoning_basis',
    test: 'context.idp.reasoning_basis == {type: "INFERENCE"}',
  },
  { of: ['idp'], has: 'context.idp has goal_id', test: 'context.idp.goal_id like "a*"' },
  {
    of: ['idp'],
    has: 'context.idp has goal_id && context.args has s',
    test: 'context.idp.goal_id == context.args.s',
  },
  {
    of: ['idp'],
    has: 'context.idp has hem_urgency',
    test: '["NONE"].contains(context.idp.hem_urgency)',
  },
  {
    of: ['idp', 'mandate'],
    has: 'context.idp has mission_ref && context.mandate has mission_ref',
    test: 'context.idp.mission_ref == context.mandate.mission_ref',
  },
  // Only whether they are there.
  { of: ['idp'], has: 'context.idp has goal_id', test: 'context.args.n > 0' },
  { of: ['idp'], has: 'context.idp has reasoning_basis', test: 'context.args.n < 2' },
  { of: ['mandate'], has: 'context.mandate has mission_ref', test: 'context.args.n == 1' },
  { of: ['idp', 'mandate'], test: 'context.args.n > 0' },
  { of: ['mandate'], test: 'context.mandate.depth < 2' },
  { of: ['mandate'], test: 'context.mandate.depth + context.args.n > 2' },
  { of: ['mandate'], test: 'context.mandate.issuer == "i"' },
  { of: ['mandate'], test: '[context.mandate.id, "x"].contains("m")' },
  // Whole records, and the whole context.
  {
    of: ['idp'],
    test: '(if context.args.n > 0 then context.idp else context.idp).profile == "IDP_THIN"',
  },
  { of: ['mandate'], test: '{a: context.mandate}.a.depth > 1' },
  {
    of: [],
    test: '(if context.args.n > 0 then context else context).mandate.depth > 1',
    ofOptional: '((if context.args.n > 0 then context else context) has mandate)',
  },
]
const PLAIN = ['context.args.n > 1', 'context.approval.granted', 'principal == Agent::"b"']

type Clause = { readonly effect: 'permit' | 'forbid'; readonly kind: 'when' | 'unless' }

/** What may be absent is tested as the linter takes it: what a forbid says of absence must keep it in force. */
function written(
  action: string,
  { effect, kind }: Clause,
  atom: Atom,
  as: 'and' | boolean,
): string {
  if (action === 'opt' && atom.ofOptional !== undefined) return atom.ofOptional
  const records = action === 'opt' ? atom.of.map((name) => `context has ${name}`) : []
  const tests = [...records, ...(atom.has === undefined ? [] : [atom.has])].join(' && ')
  if (tests === '') return `(${atom.test})`
  const absent = effect === 'forbid' ? kind === 'when' : as !== 'and' && as
  const isAnd = as === 'and' && !(effect === 'forbid' && kind === 'when')
  return isAnd ? `(${tests} && ${atom.test})` : `(if ${tests} then ${atom.test} else ${absent})`
}

const policy = fc
  .record({
    action: fc.constantFrom('req', 'req', 'opt', 'opt', 'off'),
    principal: fc.constantFrom('principal', 'principal', 'principal == Agent::"a"'),
    clause: fc.record({
      effect: fc.constantFrom('permit' as const, 'permit' as const, 'forbid' as const),
      kind: fc.constantFrom('when' as const, 'unless' as const),
    }),
    observe: fc.constantFrom(true, false, false, false, false),
    atoms: fc.array(fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom('and', true, false)), {
      minLength: 1,
      maxLength: 2,
    }),
    plain: fc.constantFrom(...PLAIN),
    operator: fc.constantFrom('&&', '||'),
  })
  .map(({ action, principal, clause, observe, atoms, plain, operator }) => {
    const tests =
      action === 'off'
        ? [plain]
        : atoms.map(([atom, as]) => written(action, clause, atom, as as 'and' | boolean))
    const mode = observe ? '@mode("observe") ' : ''
    const head = `${mode}${clause.effect} (${principal}, action == Action::"${action}", resource)`
    return `${head} ${clause.kind} { ${tests.join(` ${operator} `)} };`
  })

/** A policy set over declaration, mandate and arguments; one without conditions lets forbids be seen. */
export const setText = fc
  .tuple(fc.boolean(), fc.array(policy, { minLength: 1, maxLength: 6 }))
  .map(([open, list]) =>
    [...(open ? ['permit (principal, action, resource);'] : []), ...list]
      .map((text, index) => `@id("p${index}") ${text}`)
      .join('\n'),
  )
