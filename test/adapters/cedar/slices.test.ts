import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import type { LoadedPolicy, PolicySet } from '../../../src/adapters/cedar/policy-set.js'
import type { PolicyDecision, PolicyRequest } from '../../../src/ports/policy.js'
import { loadedSet, removeFolders } from './folder.js'
import { APPROVED, CONDITIONS, RULES, request, setText } from './random-sets.js'

/**
 * The oracle is Cedar at its plainest: the whole set as text, the whole schema, nothing preparsed,
 * nothing sliced, and every question answered by evaluating again.
 */
afterAll(removeFolders)

type Plainly = { kind: string; policies: readonly string[] }

function plainly(set: PolicySet, policies: readonly LoadedPolicy[], asked: PolicyRequest): Plainly {
  const decimal = asked.args.d
  const evaluate = (granted: boolean) => {
    const answer = cedar.isAuthorized({
      principal: { type: 'Agent', id: asked.principal },
      action: { type: 'Action', id: asked.action },
      resource: { type: 'Tool', id: asked.resource },
      context: {
        args: {
          ...asked.args,
          ...(decimal === undefined
            ? {}
            : { d: { __extn: { fn: 'decimal', arg: decimal === '-3' ? '-3.0' : decimal } } }),
        } as cedar.Context,
        approval: { granted },
      },
      schema: set.schema.json,
      validateRequest: true,
      policies: { staticPolicies: Object.fromEntries(policies.map(({ id, text }) => [id, text])) },
      entities: [
        {
          uid: { type: 'Agent', id: asked.principal },
          attrs: { developer: asked.developer },
          parents: asked.roles.map((id) => ({ type: 'Role', id })),
        },
        ...asked.roles.map((id) => ({ uid: { type: 'Role', id }, attrs: {}, parents: [] })),
        {
          uid: { type: 'Tool', id: asked.resource },
          attrs: { irreversibility: asked.irreversibility },
          parents: [],
        },
      ],
    })
    if (answer.type === 'failure' || answer.response.diagnostics.errors.length > 0) return null
    return answer.response
  }
  const now = evaluate(asked.approval.granted)
  if (now === null) return { kind: 'error', policies: [] }
  const ids = [...now.diagnostics.reason].sort()
  if (now.decision === 'allow') return { kind: 'permit', policies: ids }
  const hem = ids.length > 0 && ids.every((id) => policies.find((p) => p.id === id)?.hem)
  if (!hem || asked.approval.granted) return { kind: 'deny', policies: ids }
  const approved = evaluate(true)
  if (approved === null) return { kind: 'error', policies: [] }
  return { kind: approved.decision === 'allow' ? 'ask' : 'deny', policies: ids }
}

const expected = (set: PolicySet, asked: PolicyRequest): unknown => {
  const enforced = set.policies.filter(({ mode }) => mode === 'enforce')
  const base = plainly(set, enforced, asked)
  const alone = set.policies.filter(({ mode }) => mode === 'observe')
  const observed = alone.map((o) => ({ id: o.id, ...plainly(set, [...enforced, o], asked) }))
  if ([base, ...observed].some(({ kind }) => kind === 'error')) return 'error'
  const flips = observed.filter(({ kind }) => kind !== base.kind)
  return { ...base, observed: flips.map(({ id, kind }) => ({ id, would: kind })) }
}
const given = (decision: PolicyDecision): unknown =>
  decision.kind === 'error'
    ? 'error'
    : { kind: decision.kind, policies: decision.policies, observed: decision.observed }

/** Questions are rare among random sets: one is always asked. */
const ASKING = `@id("all") permit (principal, action, resource);
@id("ask") @hem("required") forbid (principal, action, resource) ${APPROVED};`
const UNDECIDED: PolicyRequest = {
  principal: 'a',
  roles: [],
  developer: 'acme',
  action: 'pay',
  resource: 'x',
  irreversibility: 'two_way',
  args: { n: 1 },
  approval: { granted: false },
}

describe('slicing', () => {
  it('decides every random request as the whole set would, observed flips included', async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        setText,
        fc.array(request, { minLength: 25, maxLength: 25 }),
        async (text, requests) => {
          fc.pre(text !== '')
          const set = await loadedSet(text, RULES)
          const engine = createCedarEngine({ set, rules: RULES })
          for (const asked of requests) {
            const decision = engine.decide(asked)
            seen.set(decision.kind, (seen.get(decision.kind) ?? 0) + 1)
            expect(given(decision)).toEqual(expected(set, asked))
          }
        },
      ),
      { numRuns: 30, examples: [[ASKING, Array(25).fill(UNDECIDED)]] },
    )
    // Not vacuous: every kind of decision came up.
    expect([...seen.keys()].sort()).toEqual(['ask', 'deny', 'error', 'permit'])
    expect([...seen.values()].reduce((a, b) => a + b)).toBeGreaterThanOrEqual(500)
  })

  it('remembers nothing across arguments that a policy about the agent looks at', async () => {
    // Little else varies, so that nearly every question has been asked before with another argument.
    const about = fc.record({
      agent: fc.constantFrom('principal', 'principal == Agent::"a"', 'principal == Agent::"b"'),
      effect: fc.constantFrom('permit', 'forbid'),
      condition: fc.constantFrom(...CONDITIONS.filter((text) => text.includes('context.args'))),
    })
    const text = fc
      .array(about, { minLength: 1, maxLength: 4 })
      .map((list) => [
        '@id("all") permit (principal, action, resource);',
        ...list.map(
          ({ agent, effect, condition }, index) =>
            `@id("p${index}") ${effect} (${agent}, action == Action::"pay", resource) ${condition};`,
        ),
      ])
    const asked = request.map((one) => ({
      ...one,
      ...{ action: 'pay', roles: [], developer: 'acme', resource: 'x', irreversibility: 'two_way' },
      approval: { granted: false },
    }))
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(asked, { minLength: 40, maxLength: 40 }),
        async (policies, requests) => {
          const set = await loadedSet(policies.join('\n'), RULES)
          const engine = createCedarEngine({ set, rules: RULES })
          for (const one of requests) {
            expect(given(engine.decide(one))).toEqual(expected(set, one))
          }
        },
      ),
      // Each try loads a set: to shrink a failure would take minutes and tell no more.
      { numRuns: 20, endOnFailure: true },
    )
  })
})
