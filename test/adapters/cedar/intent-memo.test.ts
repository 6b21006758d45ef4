import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import { instantiateCedar } from '../../../src/adapters/cedar/evaluate/wasm.js'
import type { PolicySet } from '../../../src/adapters/cedar/policy-set.js'
import type { PolicyDecision } from '../../../src/ports/policy.js'
import { draws } from '../../support/draws.js'
import { loadedSet, removeFolders } from './folder.js'
import {
  INTENT_RULES,
  intentRequest,
  MANDATE,
  request,
  STANDARD,
  setText,
  THIN,
} from './intents.js'

afterAll(removeFolders)

/** Cedar at its plainest, asked with the request that is kept as evidence: whole set, whole schema, no memory. */
function plainly(set: PolicySet, decision: PolicyDecision): string {
  const enforced = set.policies.filter(({ mode }) => mode === 'enforce')
  const answer = cedar.isAuthorized({
    ...(decision.request as unknown as Omit<cedar.AuthorizationCall, 'policies'>),
    schema: set.schema.json,
    validateRequest: true,
    policies: { staticPolicies: Object.fromEntries(enforced.map(({ id, text }) => [id, text])) },
  })
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer.errors))
  expect(answer.response.diagnostics.errors).toEqual([])
  return answer.response.decision === 'allow' ? 'permit' : 'deny'
}

const fresh = (set: PolicySet) =>
  createCedarEngine({ set, rules: INTENT_RULES, instantiate: () => cedar })

describe('no remembered decision crosses an intent', () => {
  it('of any policies and requests: each is decided as a new engine and as Cedar itself decide it', async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        setText,
        fc.array(request, { minLength: 60, maxLength: 60 }),
        async (text, requests) => {
          const set = await loadedSet(text, INTENT_RULES)
          const engine = createCedarEngine({ set, rules: INTENT_RULES })
          for (const asked of requests) {
            const decided = engine.decide(asked)
            const key = `${asked.action} ${decided.kind}`
            seen.set(key, (seen.get(key) ?? 0) + 1)
            expect(decided).toEqual(fresh(set).decide(asked))
            expect(decided.kind).toBe(plainly(set, decided))
          }
        },
      ),
      // Each try loads a set: to shrink a failure would take minutes and tell no more.
      { numRuns: draws(100, 15), endOnFailure: true },
    )
    // Not vacuous: each action was permitted and denied, and nothing ended in an error.
    expect([...seen.keys()].sort()).toEqual(
      ['off', 'opt', 'req'].flatMap((action) => [`${action} deny`, `${action} permit`]),
    )
  }, 300_000)
})

/** An engine that counts how often Cedar is asked. */
async function counting(text: string) {
  let asked = 0
  const set = await loadedSet(text, INTENT_RULES)
  const engine = createCedarEngine({
    set,
    rules: INTENT_RULES,
    instantiate: () => {
      const wasm = instantiateCedar()
      return {
        ...wasm,
        statefulIsAuthorized: (call) => {
          asked++
          return wasm.statefulIsAuthorized(call)
        },
      }
    },
  })
  const decide = (idp: Partial<typeof STANDARD>, mandate: Partial<typeof MANDATE> = {}) =>
    engine.decide(
      intentRequest('req', { idp: { ...STANDARD, ...idp }, mandate: { ...MANDATE, ...mandate } }),
    ).kind
  return { decide, asked: () => asked }
}

describe('what of an intent a decision is remembered by', () => {
  it('is nothing where no policy uses it', async () => {
    const { decide, asked } = await counting(
      '@id("p") permit (principal, action, resource) when { context.args.n == 1 };',
    )
    expect([
      decide({}),
      decide({ goal_id: 'other', confidence_level: '0.1' }),
      decide(THIN),
      decide({}, { id: 'other', depth: 7 }),
    ]).toEqual(Array(4).fill('permit'))
    expect(asked()).toBe(1)
  })

  it('is the bucket of a confidence that is only compared, and nothing of what is not used', async () => {
    const { decide, asked } = await counting(
      '@id("p") permit (principal, action == Action::"req", resource) when { context.idp has confidence_level && context.idp.confidence_level.greaterThanOrEqual(decimal("0.8")) };',
    )
    expect(['0.8', '0.8000', '0.80', '0.8'].map((c) => decide({ confidence_level: c }))).toEqual(
      Array(4).fill('permit'),
    )
    expect(asked()).toBe(1)
    expect(['0.7999', '0', '0.5'].map((c) => decide({ confidence_level: c, goal_id: c }))).toEqual(
      Array(3).fill('deny'),
    )
    expect(asked()).toBe(2)
    expect(['0.8001', '1'].map((c) => decide({ confidence_level: c }))).toEqual(
      Array(2).fill('permit'),
    )
    expect(asked()).toBe(3)
    expect([decide({ confidence_level: null }), decide(THIN)]).toEqual(['deny', 'deny'])
    expect(asked()).toBe(4)
  })

  it('is the value of what is compared with anything else', async () => {
    const { decide, asked } = await counting(
      '@id("p") permit (principal, action == Action::"req", resource) when { context.idp has goal_id && context.idp.goal_id == "g" };',
    )
    expect(
      ['g', 'h', 'g', 'i'].map((goal_id) => decide({ goal_id, confidence_level: '0.1' })),
    ).toEqual(['permit', 'deny', 'permit', 'deny'])
    expect(asked()).toBe(3)
  })

  it('is all of it where a policy uses the context as a whole', async () => {
    const { decide, asked } = await counting(
      '@id("p") permit (principal, action == Action::"req", resource) when { (if context.args.n > 0 then context else context).mandate.depth > 1 };',
    )
    expect([decide({}, { depth: 1 }), decide({}, { depth: 2 })]).toEqual(['deny', 'permit'])
    decide({ goal_id: 'other' }, { depth: 2 })
    decide({}, { depth: 2, id: 'other' })
    expect(asked()).toBe(4)
  })
})
