import { createHash } from 'node:crypto'
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import { cedarRequest } from '../../../src/adapters/cedar/evaluate/request.js'
import { intentUsesOf } from '../../../src/adapters/cedar/load/argument-buckets.js'
import { cedarSchema, type PolicyRule } from '../../../src/adapters/cedar/schema.js'
import { GATE_SCHEMAS } from '../../../src/core/evidence/gate-schemas.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'
import { loadedSet, REFUND_RULES, removeFolders } from './folder.js'
import { INTENT_RULES, intentRequest, MANDATE, request, STANDARD, THIN } from './intents.js'

afterAll(removeFolders)

const schemaOf = (rules: readonly PolicyRule[]) => {
  const built = cedarSchema(rules)
  if (!built.ok) throw new Error(JSON.stringify(built.findings))
  return built.schema
}
const SHAPES = new Map(schemaOf(INTENT_RULES).actions.map((shape) => [shape.action, shape]))
const build = (asked: PolicyRequest) => {
  const shape = SHAPES.get(asked.action)
  if (shape === undefined) throw new Error(asked.action)
  return cedarRequest(shape, asked)
}
const contextOf = (asked: PolicyRequest) => {
  const built = build(asked)
  if (!built.ok) throw new Error(built.detail)
  return built.request.context
}

describe('the schema', () => {
  it('of rules without intent is what it was, to the byte', () => {
    const { text } = schemaOf(REFUND_RULES)
    expect(createHash('sha256').update(text).digest('hex')).toBe(
      '9021db4a37d9d0ce11d714c179fae778070f6bde2a4313d0979842891135ba8d',
    )
  })

  it('of an action without intent does not depend on others that have it', () => {
    const alone = schemaOf(INTENT_RULES.slice(2)).json['']?.actions.off
    expect(schemaOf(INTENT_RULES).json['']?.actions.off).toEqual(alone)
  })

  it('refuses tools of one action that differ in intent, and names both', () => {
    const [req] = INTENT_RULES
    if (req === undefined) throw new Error('no rule')
    for (const other of [{ intent: 'optional' as const }, {}]) {
      const { tool: _, intent: __, ...same } = req
      const built = cedarSchema([req, { ...same, tool: 'second', ...other }])
      expect(built).toMatchObject({ ok: false, findings: [{ code: 'action_intent_differs' }] })
      expect(JSON.stringify(built)).toMatch(/req.*second/)
    }
  })
})

describe('declaration and mandate in the context', () => {
  it('are there in full, in Cedar’s form', () => {
    expect(contextOf(intentRequest('req', { idp: STANDARD, mandate: MANDATE }))).toEqual({
      args: { n: 1 },
      approval: { granted: false },
      idp: {
        profile: 'IDP_STANDARD',
        reasoning_basis: { type: 'INSTRUCTION' },
        confidence_level: { __extn: { fn: 'decimal', arg: '0.8' } },
        hem_urgency: 'NONE',
        goal_id: STANDARD.goal_id,
        mission_ref: STANDARD.mission_ref,
      },
      mandate: { id: MANDATE.id, issuer: MANDATE.issuer, depth: 1 },
    })
  })

  it('have no member for what was not declared: a thin one has its profile, and an urgency', () => {
    const thin = (hem_urgency: string | null) =>
      contextOf(intentRequest('req', { idp: { ...THIN, hem_urgency }, mandate: MANDATE })).idp
    expect(thin(null)).toEqual({ profile: 'IDP_THIN' })
    expect(thin('REQUIRED')).toEqual({ profile: 'IDP_THIN', hem_urgency: 'REQUIRED' })
  })

  it('are kept as evidence in a form that its schema describes', () => {
    const { $defs } = GATE_SCHEMAS
    const conforms = new Ajv2020({ strict: false }).compile($defs['dev.capsulegate.cedar'])
    fc.assert(
      fc.property(request, (asked) => {
        const built = build(asked)
        const evidence = {
          constraint: 'dev.capsulegate.cedar',
          policy_digest: '0'.repeat(64),
          salt: '0'.repeat(32),
          decision: 'permit',
          request: built.ok ? built.request : null,
        }
        expect([conforms(evidence), conforms.errors]).toEqual([true, null])
      }),
    )
  })

  const whole = { idp: STANDARD, mandate: MANDATE }
  const confidence = (confidence_level: unknown) => ({
    ...whole,
    idp: { ...STANDARD, confidence_level },
  })
  it.each<[string, string, object]>([
    ['an intent where the action has none', 'off', { idp: STANDARD }],
    ['a mandate where the action has none', 'off', { mandate: MANDATE }],
    ['no intent where it is required', 'req', { mandate: MANDATE }],
    ['no mandate where it is required', 'req', { idp: STANDARD }],
    ['null for an intent', 'opt', { idp: null }],
    ['null for a mandate', 'opt', { mandate: null }],
    ['a text for an intent', 'opt', { idp: 'IDP_STANDARD' }],
    ['an unknown profile', 'req', { ...whole, idp: { ...STANDARD, profile: 'IDP_FULL' } }],
    ['a lone surrogate', 'req', { ...whole, idp: { ...STANDARD, goal_id: '\ud800' } }],
    ['an entity for text', 'req', { ...whole, idp: { ...STANDARD, goal_id: { __entity: {} } } }],
    ['a thin one with a stub', 'req', { ...whole, idp: { ...THIN, confidence_level: '0.5' } }],
    [
      'a thin one with a reason',
      'req',
      { ...whole, idp: { ...THIN, reasoning_type: 'UNSPECIFIED' } },
    ],
    ['a negative depth', 'req', { ...whole, mandate: { ...MANDATE, depth: -1 } }],
    ['a broken depth', 'req', { ...whole, mandate: { ...MANDATE, depth: 0.5 } }],
    ['a mandate without id', 'req', { ...whole, mandate: { ...MANDATE, id: null } }],
    ...[
      '0.80000',
      '1.0001',
      '2',
      '-0.1',
      '-0',
      '.5',
      '1.',
      '8e-1',
      '00.5',
      ' 0.5',
      '0.5\n',
      '',
    ].map((text): [string, string, object] => [
      `confidence ${JSON.stringify(text)}`,
      'req',
      confidence(text),
    ]),
    ['a number for confidence', 'req', confidence(0.8)],
  ])('is an error value, never a permit: %s', async (_case, action, change) => {
    const set = await loadedSet('@id("p") permit (principal, action, resource);', INTENT_RULES)
    const engine = createCedarEngine({ set, rules: INTENT_RULES })
    expect(engine.decide({ ...intentRequest(action), ...change } as PolicyRequest)).toMatchObject({
      kind: 'error',
      errorClass: 'request_invalid',
    })
  })

  it.each(['0', '0.0', '0.7999', '0.8000', '1', '1.0000'])(
    'confidence %s is taken as it is',
    (text) => {
      const { idp } = contextOf({ ...intentRequest('req'), ...confidence(text) } as PolicyRequest)
      const arg = text.includes('.') ? text : `${text}.0`
      expect(idp?.confidence_level).toEqual({ __extn: { fn: 'decimal', arg } })
    },
  )
})

describe('what a policy uses of them', () => {
  const uses = (condition: string) => {
    const parsed = cedar.policyToJson(`permit (principal, action, resource) when { ${condition} };`)
    if (parsed.type !== 'success') throw new Error(JSON.stringify(parsed.errors))
    const found = intentUsesOf(parsed.json)
    return found === null ? null : Object.fromEntries(found)
  }
  it.each<[string, object | null]>([
    ['context.args.n > 1 && context.approval.granted', {}],
    ['context.args == {n: 1}', {}],
    ['context has idp', { idp: [] }],
    ['context.idp has goal_id', { idp: [], 'idp.goal_id': [] }],
    [
      'context.idp has confidence_level && context.idp.confidence_level.lessThan(decimal("0.8"))',
      { idp: [], 'idp.confidence_level': [8000] },
    ],
    ['3 > context.mandate.depth', { mandate: [], 'mandate.depth': [3] }],
    [
      'context.idp.reasoning_basis.type == "x"',
      { idp: [], 'idp.reasoning_basis': [], 'idp.reasoning_basis.type': 'value' },
    ],
    ['context.idp["goal_id"] like "a*"', { idp: [], 'idp.goal_id': 'value' }],
    ['[context.idp].contains(context.idp)', { idp: 'value' }],
    ['{a: context.mandate}.a.depth > 1', { mandate: 'value' }],
    ['(if true then context else context).idp.profile == "x"', null],
    ['context == {}', null],
  ])('%s', (condition, expected) => {
    expect(uses(condition)).toEqual(expected)
  })
})
