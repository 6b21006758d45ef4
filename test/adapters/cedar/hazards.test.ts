import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import { type PolicySet, policySet } from '../../../src/adapters/cedar/policy-set.js'
import { cedarSchema, type PolicyRule } from '../../../src/adapters/cedar/schema.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'
import { ANYONE, engineFor, findingsOf, removeFolders } from './folder.js'

/**
 * The ways Cedar says allow where its author meant no. Each is first reproduced on the bare engine, so
 * that the guard under test is known to guard something.
 */
afterAll(removeFolders)

const RULES: readonly PolicyRule[] = [
  {
    tool: 'run',
    action: 'run',
    args: {
      command: { type: 'string', optional: false },
      amount: { type: 'integer', optional: true },
    },
  },
]
const PERMIT = '@id("all") permit (principal, action == Action::"run", resource);'
const forbid = (condition: string) =>
  `@id("no") forbid (principal, action == Action::"run", resource) ${condition};`

const agent = { type: 'Agent', id: 'bot' }
const tool = { type: 'Tool', id: 'run' }
const agentEntity = { uid: agent, attrs: { developer: 'acme' }, parents: [] }

/** Cedar as most callers use it: no schema. */
function bare(policy: string, context: cedar.Context, entities: cedar.Entities = []) {
  const answer = cedar.isAuthorized({
    principal: agent,
    action: { type: 'Action', id: 'run' },
    resource: tool,
    context,
    policies: { staticPolicies: { all: PERMIT, no: policy } },
    entities,
  })
  return answer.type === 'failure'
    ? { decision: 'failure', errors: answer.errors.length }
    : { decision: answer.response.decision, errors: answer.response.diagnostics.errors.length }
}
const FOOLED = { decision: 'allow', errors: 1 }

const request = (args: unknown, change: Partial<PolicyRequest> = {}): PolicyRequest => ({
  principal: 'bot',
  roles: [],
  developer: 'acme',
  action: 'run',
  resource: 'run',
  irreversibility: 'two_way',
  args: args as PolicyRequest['args'],
  approval: { granted: false },
  ...change,
})
const codes = async (text: string) => (await findingsOf(text, RULES)).map(({ code }) => code)

describe('Cedar hazards', () => {
  it('A and D: a forbid with a type error allows in bare Cedar; it does not load here', async () => {
    const policy = forbid('when { context.args.command in ["rm"] }')
    expect(bare(policy, { args: { command: 'rm' } })).toEqual(FOOLED)
    expect(await codes(`${PERMIT}\n${policy}`)).toContain('policy_invalid')
  })

  it('B: a forbid on an absent attribute allows in bare Cedar; it does not load here', async () => {
    const policy = forbid('when { context.args.amount > 100 }')
    expect(bare(policy, { args: { command: 'rm' } })).toEqual(FOOLED)
    expect(await codes(`${PERMIT}\n${policy}`)).toEqual(['policy_invalid'])
  })

  it('C and E: text for a number allows in bare Cedar; here it is an error value', async () => {
    const policy = forbid(
      'when { if context.args has amount then context.args.amount > 100 else false }',
    )
    expect(bare(policy, { args: { amount: '500' } })).toEqual(FOOLED)
    const engine = await engineFor(`${PERMIT}\n${policy}`, RULES)
    expect(engine.decide(request({ command: 'x', amount: '500' }))).toMatchObject({
      kind: 'error',
      errorClass: 'args_invalid',
    })
    expect(engine.decide(request({ command: 'x', amount: 500 })).kind).toBe('deny')
  })

  it.each([
    ['F: a float', { command: 'x', amount: 1.5 }],
    ['F: not a number at all', { command: 'x', amount: Number.NaN }],
    ['F: an integer a double cannot hold', { command: 'x', amount: 2 ** 53 }],
    ['G: null for a required argument', { command: null }],
    ['G: nothing for a required argument', {}],
    ['H: an entity for a string', { command: { __entity: { type: 'Agent', id: 'root' } } }],
    ['H: an extension value for a string', { command: { __extn: { fn: 'ip', arg: '::1' } } }],
    ['H: an entity inside a list', { command: [{ __entity: { type: 'Agent', id: 'root' } }] }],
    ['H: an undeclared argument named __entity', { command: 'x', __entity: 'x' }],
    ['a member that only the prototype has', Object.create({ command: 'x' })],
    ['half a surrogate pair', { command: '\ud800' }],
  ])('%s is an error value', async (_case, args) => {
    const engine = await engineFor(PERMIT, RULES)
    expect(engine.decide(request(args))).toMatchObject({
      kind: 'error',
      errorClass: 'args_invalid',
    })
  })

  it('G: null for an optional argument is its absence', async () => {
    const engine = await engineFor(PERMIT, RULES)
    expect(engine.decide(request({ command: 'x', amount: null }))).toMatchObject({
      kind: 'permit',
      request: { context: { args: { command: 'x' } } },
    })
  })

  it('H: bare Cedar takes an argument for an entity', () => {
    const policy =
      '@id("x") permit (principal, action, resource) when { context.x == Agent::"root" };'
    const answer = cedar.isAuthorized({
      principal: agent,
      action: { type: 'Action', id: 'run' },
      resource: tool,
      context: { x: { __entity: { type: 'Agent', id: 'root' } } },
      policies: { staticPolicies: { x: policy } },
      entities: [],
    })
    expect(answer).toMatchObject({ response: { decision: 'allow' } })
  })

  it('H: no manifest can declare an argument that Cedar would read as an escape', () => {
    for (const name of ['__entity', '__extn', '__expr', '__proto__', '']) {
      const args = Object.fromEntries([[name, { type: 'string' as const, optional: false }]])
      const result = cedarSchema([{ tool: 't', action: 'a', args }])
      expect(result.ok ? [] : result.findings.map(({ code }) => code)).toEqual(['name_reserved'])
    }
  })
})

describe('a forbid that errors does not forbid', () => {
  it('by an entity that is not supplied: the gate always supplies it', async () => {
    const policy = forbid('when { resource.irreversibility == "one_way_terminal" }')
    expect(bare(policy, { args: { command: 'x' } }, [agentEntity])).toEqual(FOOLED)
    const engine = await engineFor(`${PERMIT}\n${policy}`, RULES)
    const terminal = { irreversibility: 'one_way_terminal' }
    expect(engine.decide(request({ command: 'x' }, terminal)).kind).toBe('deny')
    expect(engine.decide(request({ command: 'x' })).kind).toBe('permit')
  })

  it('by integer overflow, which no validation can exclude: an error value', async () => {
    const policy = forbid(
      'when { if context.args has amount then context.args.amount * 4611686018427387904 > 1 else false }',
    )
    const tools = { uid: tool, attrs: { irreversibility: 'two_way' }, parents: [] }
    expect(bare(policy, { args: { command: 'x', amount: 2 } }, [agentEntity, tools])).toEqual(
      FOOLED,
    )
    const engine = await engineFor(`${PERMIT}\n${policy}`, RULES)
    const decision = engine.decide(request({ command: 'x', amount: 2 }))
    expect(decision).toMatchObject({ kind: 'error', errorClass: 'policy_error' })
    expect(engine.decide(request({ command: 'x', amount: 0 })).kind).toBe('permit')
  })

  it('by an attribute missing at run time: an error value even for a set nobody validated', () => {
    const schema = cedarSchema(RULES)
    if (!schema.ok) throw new Error('schema')
    const policy = (id: string, text: string, effect: 'permit' | 'forbid') => ({
      ...{ id, text, effect, file: 'x', line: 1, hem: false, reason: null },
      ...{ mode: 'enforce' as const, actions: ['run'], uses: null, intentUses: null },
      ...{ scope: ANYONE, isConditional: true },
    })
    const set: PolicySet = policySet(schema.schema, [
      policy('all', PERMIT, 'permit'),
      policy('no', forbid('when { context.args.amount > 100 }'), 'forbid'),
    ])
    const engine = createCedarEngine({ set, rules: RULES })
    expect(engine.decide(request({ command: 'x' }))).toMatchObject({
      kind: 'error',
      errorClass: 'policy_error',
    })
  })

  it('an error in an observed policy voids the decision too', async () => {
    const trial = `@mode("observe") ${forbid('when { if context.args has amount then context.args.amount * 4611686018427387904 > 1 else false }')}`
    const engine = await engineFor(`${PERMIT}\n${trial}`, RULES)
    expect(engine.decide(request({ command: 'x', amount: 2 })).kind).toBe('error')
    expect(engine.decide(request({ command: 'x', amount: 0 })).kind).toBe('permit')
  })
})

describe('action groups', () => {
  it('a group nobody declared matches nothing in bare Cedar; it does not load here', async () => {
    const policy = '@id("no") forbid (principal, action in Action::"write", resource);'
    expect(bare(policy, { args: { command: 'x' } })).toEqual({ decision: 'allow', errors: 0 })
    expect(await codes(`${PERMIT}\n${policy}`)).toEqual(['policy_invalid'])
  })

  it('a list of actions is sliced into each of them', async () => {
    const rules = ['read', 'write', 'drop'].map((action) => ({ tool: action, action, args: {} }))
    const engine = await engineFor(
      `@id("all") permit (principal, action, resource);
       @id("no") forbid (principal, action in [Action::"write", Action::"drop"], resource);`,
      rules,
    )
    const kinds = rules.map(({ action }) => engine.decide(request({}, { action })).kind)
    expect(kinds).toEqual(['permit', 'deny', 'deny'])
  })
})
