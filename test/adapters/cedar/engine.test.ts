import { afterAll, describe, expect, it } from '@jest/globals'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import { warmUp } from '../../../src/adapters/cedar/evaluate/warm-up.js'
import { type CedarWasm, instantiateCedar } from '../../../src/adapters/cedar/evaluate/wasm.js'
import { type PolicySet, policySet } from '../../../src/adapters/cedar/policy-set.js'
import { canonicalOf } from '../../../src/core/json/build.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'
import { ANYONE, engineFor, loadedSet, REFUND_RULES, removeFolders } from './folder.js'

afterAll(removeFolders)

/** DESIGN §1, word for word. */
const DESIGN_POLICIES = `
@id("support-refunds") permit (principal == Agent::"support-bot", action == Action::"create_refund", resource);
@id("large-refund") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
const refund = (amount: string, change: Partial<PolicyRequest> = {}): PolicyRequest => ({
  principal: 'support-bot',
  roles: [],
  developer: 'acme',
  action: 'create_refund',
  resource: 'create_refund',
  irreversibility: 'one_way_consequential',
  args: { order: 'o-1', currency: 'EUR', amount },
  approval: { granted: false },
  ...change,
})
const search = (args: PolicyRequest['args'], change: Partial<PolicyRequest> = {}) =>
  refund('0', { action: 'search', resource: 'search', args, ...change })

describe('the policies of the first page', () => {
  it('permit, ask and deny as they say', async () => {
    const engine = await engineFor(DESIGN_POLICIES, REFUND_RULES)
    const approved = { approval: { granted: true } }
    expect(engine.decide(refund('100'))).toMatchObject({
      kind: 'permit',
      policies: ['support-refunds'],
    })
    expect(engine.decide(refund('100.0001'))).toMatchObject({
      kind: 'ask',
      policies: ['large-refund'],
      reason: null,
    })
    expect(engine.decide(refund('100.0001', approved)).kind).toBe('permit')
    expect(engine.decide(refund('1', { principal: 'other' }))).toMatchObject({
      kind: 'deny',
      policies: [],
      reason: null,
    })
    expect(engine.decide(refund('101', { principal: 'other' })).kind).toBe('deny')
    expect(engine.decide(search({ limit: 1 })).kind).toBe('deny')
    expect(engine.decide(refund('100.00001'))).toMatchObject({
      kind: 'error',
      errorClass: 'args_invalid',
    })
  })

  it('are evaluated from warm on, action by action', async () => {
    const engine = await engineFor(DESIGN_POLICIES, REFUND_RULES)
    expect(engine.actions.map(({ action }) => action)).toEqual(['create_refund', 'search'])
    expect(warmUp(engine)).toEqual([])
  })
})

describe('a decision', () => {
  it('knows roles, developer and irreversibility', async () => {
    const engine = await engineFor(
      `@id("role") permit (principal in Role::"finance", action == Action::"create_refund", resource);
       @id("dev") permit (principal, action == Action::"search", resource == Tool::"search") when { principal.developer == "acme" };
       @id("end") forbid (principal, action, resource) when { resource.irreversibility == "one_way_terminal" };`,
      REFUND_RULES,
    )
    expect(engine.decide(refund('1')).kind).toBe('deny')
    expect(engine.decide(refund('1', { roles: ['ops', 'finance'] })).kind).toBe('permit')
    expect(engine.decide(search({ limit: 1 })).kind).toBe('permit')
    expect(engine.decide(search({ limit: 1 }, { developer: 'evil' })).kind).toBe('deny')
    expect(
      engine.decide(search({ limit: 1 }, { irreversibility: 'one_way_terminal' })),
    ).toMatchObject({ kind: 'deny', policies: ['end'] })
  })

  it("carries the operator's reasons, of every policy in the way", async () => {
    const forbid = (id: string, reason: string) =>
      `@id("${id}") ${reason} @hem("required") forbid (principal, action == Action::"search", resource) unless { context.approval.granted };`
    const engine = await engineFor(
      `@id("p") permit (principal, action == Action::"search", resource);
       ${forbid('c', '@reason("too early")')} ${forbid('a', '@reason("too wide")')} ${forbid('b', '')} ${forbid('d', '@reason("too wide")')}`,
      REFUND_RULES,
    )
    expect(engine.decide(search({ limit: 1 }))).toMatchObject({
      kind: 'ask',
      policies: ['a', 'b', 'c', 'd'],
      reason: 'too wide; too early',
    })
  })

  it('keeps the whole request as Cedar saw it, in a form that has a digest', async () => {
    const engine = await engineFor(DESIGN_POLICIES, REFUND_RULES)
    const args = { limit: -0, text: 'é', tags: ['b', 'a'], deep: true, price: '10.50' }
    const decision = engine.decide(search(args, { roles: ['r'] }))
    expect(decision.request).toEqual({
      principal: { type: 'Agent', id: 'support-bot' },
      action: { type: 'Action', id: 'search' },
      resource: { type: 'Tool', id: 'search' },
      context: {
        args: {
          deep: true,
          limit: 0,
          price: { __extn: { fn: 'decimal', arg: '10.5' } },
          tags: ['b', 'a'],
          text: 'é',
        },
        approval: { granted: false },
      },
      entities: [
        {
          uid: { type: 'Agent', id: 'support-bot' },
          attrs: { developer: 'acme' },
          parents: [{ type: 'Role', id: 'r' }],
        },
        {
          uid: { type: 'Tool', id: 'search' },
          attrs: { irreversibility: 'one_way_consequential' },
          parents: [],
        },
      ],
    })
    expect(() => canonicalOf(decision.request)).not.toThrow()
  })

  it('is an error value when the request exceeds 64 KiB, in characters or in bytes', async () => {
    const engine = await engineFor(
      '@id("p") permit (principal, action == Action::"search", resource);',
      REFUND_RULES,
    )
    const kinds = ['x'.repeat(60_000), 'é'.repeat(30_000), '\u0001'.repeat(10_000)].map(
      (text) => engine.decide(search({ limit: 1, text })).kind,
    )
    expect(kinds).toEqual(['permit', 'permit', 'permit'])
    for (const text of ['x'.repeat(65_537), 'é'.repeat(33_000), '\u0001'.repeat(11_000)]) {
      const decision = engine.decide(search({ limit: 1, text }))
      expect(decision).toMatchObject({ kind: 'error', errorClass: 'args_too_large' })
      expect(JSON.stringify(decision).length).toBeLessThan(500)
    }
    expect(engine.decide(search({ limit: 1, tags: Array(70_000).fill('') })).kind).toBe('error')
  })

  it('is an error value when an identifier is no text or the approval no boolean', async () => {
    const engine = await engineFor(DESIGN_POLICIES, REFUND_RULES)
    for (const change of [
      { principal: '\udc00' },
      { roles: ['\udc00'] },
      { developer: 7 },
      { approval: { granted: 'yes' } },
      { approval: null },
    ]) {
      const decision = engine.decide(refund('1', change as unknown as Partial<PolicyRequest>))
      expect(decision.kind).toBe('error')
      expect(() => canonicalOf(decision.request)).not.toThrow()
    }
  })
})

describe('every evaluation', () => {
  it('has a schema, request validation, the principal and the resource, what-ifs included', async () => {
    const calls: Parameters<CedarWasm['statefulIsAuthorized']>[0][] = []
    const instantiate = (): CedarWasm => {
      const wasm = instantiateCedar()
      const statefulIsAuthorized: CedarWasm['statefulIsAuthorized'] = (call) => {
        calls.push(call)
        return wasm.statefulIsAuthorized(call)
      }
      return { ...wasm, statefulIsAuthorized }
    }
    const observed =
      '@id("o") @mode("observe") forbid (principal, action == Action::"create_refund", resource);'
    const set = await loadedSet(DESIGN_POLICIES + observed, REFUND_RULES)
    const engine = createCedarEngine({ set, rules: REFUND_RULES, instantiate })
    expect(engine.decide(refund('200')).kind).toBe('ask')
    expect(calls.length).toBeGreaterThan(2)
    for (const call of calls) {
      expect(call.preparsedSchemaName).toMatch(/^[AB]\d+$/)
      expect(call.validateRequest).toBe(true)
      expect(call.entities.map(({ uid }) => uid)).toEqual([call.principal, call.resource])
    }
  })
})

describe('observed policies', () => {
  const on = (id: string, effect: string, tail = '') =>
    `@id("${id}") @mode("observe") ${effect} (principal, action == Action::"search", resource) ${tail};`
  const HEM = '@hem("required") forbid'
  const APPROVED = 'unless { context.approval.granted }'
  const permit = '@id("p") permit (principal, action == Action::"search", resource);'
  const ask = `@id("h") @hem("required") forbid (principal, action == Action::"search", resource) ${APPROVED};`
  const no = '@id("n") forbid (principal, action == Action::"search", resource);'
  const APPROVED_ONLY = 'when { context.approval.granted }'

  it.each([
    ['a forbid on a permit', permit, on('o', 'forbid'), 'permit', 'deny'],
    ['a question on a permit', permit, on('o', HEM, APPROVED), 'permit', 'ask'],
    ['a permit on a permit', permit, on('o', 'permit'), 'permit', null],
    ['a permit on the default deny', '', on('o', 'permit'), 'deny', 'permit'],
    ['a forbid on the default deny', '', on('o', 'forbid'), 'deny', null],
    ['a question on the default deny', '', on('o', HEM, APPROVED), 'deny', null],
    ['a permit on a forbid', no, on('o', 'permit'), 'deny', null],
    ['a permit on a question nobody permits', ask, on('o', 'permit'), 'deny', 'ask'],
    ['a forbid on a question', permit + ask, on('o', 'forbid'), 'ask', 'deny'],
    ['another question on a question', permit + ask, on('o', HEM, APPROVED), 'ask', null],
    [
      'a forbid of what was approved',
      permit + ask,
      on('o', 'forbid', APPROVED_ONLY),
      'ask',
      'deny',
    ],
    [
      'a forbid that does not apply',
      permit,
      on('o', 'forbid', 'when { context.args.limit > 5 }'),
      'permit',
      null,
    ],
  ])('%s', async (_case, enforced, observed, kind, would) => {
    const engine = await engineFor(`${enforced} ${observed}`, REFUND_RULES)
    const decision = engine.decide(search({ limit: 1 }))
    expect(decision.kind).toBe(kind)
    const seen = decision.kind === 'error' ? [] : decision.observed.filter(({ id }) => id === 'o')
    expect(seen).toEqual(would === null ? [] : [{ id: 'o', would }])
  })

  it('are not asked about where the approval is already there', async () => {
    const engine = await engineFor(`${permit} ${on('o', HEM, APPROVED)}`, REFUND_RULES)
    const approved = { approval: { granted: true } }
    expect(engine.decide(search({ limit: 1 }, approved))).toMatchObject({ observed: [] })
  })
})

describe('replacing an engine', () => {
  const permitting = (who: string) =>
    loadedSet(
      `@id("${who}") permit (principal == Agent::"${who}", action, resource);`,
      REFUND_RULES,
    )
  const permits = (
    engine: { decide: ReturnType<typeof createCedarEngine>['decide'] },
    who: string,
  ) => engine.decide(refund('1', { principal: who }))

  it('keeps the old one working until the one after, which retires it with an error value', async () => {
    const rules = REFUND_RULES
    const first = createCedarEngine({ set: await permitting('a'), rules })
    const second = createCedarEngine({ set: await permitting('b'), rules, replaces: first })
    expect([permits(first, 'a').kind, permits(first, 'b').kind]).toEqual(['permit', 'deny'])
    expect([permits(second, 'a').kind, permits(second, 'b').kind]).toEqual(['deny', 'permit'])
    const third = createCedarEngine({ set: await permitting('c'), rules, replaces: second })
    expect(permits(first, 'c')).toMatchObject({ kind: 'error', errorClass: 'engine_retired' })
    expect([permits(second, 'b').kind, permits(third, 'c').kind]).toEqual(['permit', 'permit'])
  })

  it('a successor nobody adopted gives its seat to the next', async () => {
    const rules = REFUND_RULES
    const live = createCedarEngine({ set: await permitting('a'), rules })
    const dropped = createCedarEngine({ set: await permitting('b'), rules, replaces: live })
    const next = createCedarEngine({ set: await permitting('c'), rules, replaces: live })
    expect(permits(dropped, 'b')).toMatchObject({ kind: 'error', errorClass: 'engine_retired' })
    expect([permits(live, 'a').kind, permits(next, 'c').kind]).toEqual(['permit', 'permit'])
  })

  it('engines that do not replace each other share nothing', async () => {
    const engines = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (who) =>
        createCedarEngine({ set: await permitting(who), rules: REFUND_RULES }),
      ),
    )
    const kinds = engines.map((engine) =>
      ['a', 'b', 'c', 'd'].map((who) => permits(engine, who).kind),
    )
    expect(kinds.map((row) => row.indexOf('permit'))).toEqual([0, 1, 2, 3])
  })

  it('refuses a set that was validated against other manifests', async () => {
    const set = await permitting('a')
    expect(() => createCedarEngine({ set, rules: REFUND_RULES.slice(1) })).toThrow(
      /load them again/,
    )
  })

  it('uses the same few names however often it happens', async () => {
    const names = new Set<string>()
    const instantiate = (): CedarWasm => {
      const wasm = instantiateCedar()
      return {
        ...wasm,
        preparseSchema: (name, schema) => wasm.preparseSchema(names.add(name) && name, schema),
        preparsePolicySet: (name, set) => wasm.preparsePolicySet(names.add(name) && name, set),
      }
    }
    const sets = [await permitting('a'), await loadedSet(DESIGN_POLICIES, REFUND_RULES)]
    let engine = createCedarEngine({ set: sets[0] as PolicySet, rules: REFUND_RULES, instantiate })
    for (let i = 1; i < 6; i++) {
      const set = sets[i % 2] as PolicySet
      engine = createCedarEngine({ set, rules: REFUND_RULES, replaces: engine })
    }
    const after = names.size
    global.gc?.()
    const external = process.memoryUsage().external
    for (let i = 0; i < 2000; i++) {
      const set = sets[i % 2] as PolicySet
      engine = createCedarEngine({ set, rules: REFUND_RULES, replaces: engine })
    }
    expect(names.size).toBe(after)
    expect(process.memoryUsage().external - external).toBeLessThan(8 * 1024 * 1024)
    expect(warmUp(engine)).toEqual([])
  })
})

describe('an instance that is lost', () => {
  const POISON = `permit (principal, action, resource) when { ${'('.repeat(300)}true${')'.repeat(300)} };`
  const watched = () => {
    const instances: CedarWasm[] = []
    const control = { fail: false }
    const instantiate = (): CedarWasm => {
      if (control.fail) throw new Error('no memory')
      const wasm = instantiateCedar()
      instances.push(wasm)
      return wasm
    }
    /** One overflow costs the instance part of its own stack, or all of it: until nothing is left. */
    const poison = () => {
      const wasm = instances.at(-1)
      const answers = (text: string): boolean => {
        try {
          return wasm?.policyToJson(text) !== undefined
        } catch {
          return false
        }
      }
      for (let i = 0; i < 1000 && answers('permit (principal, action, resource);'); i++) {
        answers(POISON)
      }
      expect(answers('permit (principal, action, resource);')).toBe(false)
    }
    return { instances, control, instantiate, poison }
  }

  it('costs one error value; the next call meets a fresh instance', async () => {
    const { instances, instantiate, poison } = watched()
    const set = await loadedSet(DESIGN_POLICIES, REFUND_RULES)
    const engine = createCedarEngine({ set, rules: REFUND_RULES, instantiate })
    expect(engine.decide(refund('1')).kind).toBe('permit')
    poison()
    // On the other side of the limit: the first answer is not to be remembered here.
    expect(engine.decide(refund('200'))).toMatchObject({
      kind: 'error',
      errorClass: 'instance_replaced',
    })
    expect(engine.decide(refund('200')).kind).toBe('ask')
    expect(engine.decide(refund('2')).kind).toBe('permit')
    expect(instances.length).toBe(2)
  })

  it('is replaced for both seats', async () => {
    const { instantiate, poison } = watched()
    const set = await loadedSet(DESIGN_POLICIES, REFUND_RULES)
    const first = createCedarEngine({ set, rules: REFUND_RULES, instantiate })
    const second = createCedarEngine({ set, rules: REFUND_RULES, replaces: first })
    poison()
    expect(second.decide(refund('1')).kind).toBe('error')
    expect([first, second].map((engine) => engine.decide(refund('200')).kind)).toEqual([
      'ask',
      'ask',
    ])
  })

  it('stays an error value while there is no new one, and recovers when there is', async () => {
    const { control, instantiate, poison } = watched()
    const set = await loadedSet(DESIGN_POLICIES, REFUND_RULES)
    const engine = createCedarEngine({ set, rules: REFUND_RULES, instantiate })
    poison()
    control.fail = true
    for (let i = 0; i < 3; i++) {
      expect(engine.decide(refund('1'))).toMatchObject({
        kind: 'error',
        errorClass: 'instance_lost',
      })
    }
    control.fail = false
    expect(engine.decide(refund('1')).kind).toBe('error')
    expect(engine.decide(refund('1')).kind).toBe('permit')
  })

  it('while a successor is prepared leaves the live engine deciding', async () => {
    const { instantiate } = watched()
    const set = await loadedSet(DESIGN_POLICIES, REFUND_RULES)
    const live = createCedarEngine({ set, rules: REFUND_RULES, instantiate })
    const hostile = policySet(set.schema, [
      {
        ...{ id: 'x', text: POISON, file: 'x', line: 1, effect: 'permit', hem: false },
        ...{ mode: 'enforce', reason: null, actions: ['search'], uses: null, intentUses: null },
        ...{ scope: ANYONE, isConditional: true },
      },
    ])
    expect(() => createCedarEngine({ set: hostile, rules: REFUND_RULES, replaces: live })).toThrow()
    expect(live.decide(refund('1')).kind).toBe('permit')
    expect(live.decide(refund('200')).kind).toBe('ask')
  })
})

describe('an engine below that misbehaves', () => {
  type Answer = ReturnType<CedarWasm['statefulIsAuthorized']>
  const answering = async (answer: () => unknown) => {
    const set = await loadedSet(DESIGN_POLICIES, REFUND_RULES)
    const instantiate = () => ({
      ...instantiateCedar(),
      statefulIsAuthorized: () => answer() as Answer,
    })
    return createCedarEngine({ set, rules: REFUND_RULES, instantiate }).decide(refund('1'))
  }
  const response = (decision: string, reason: string[], errors: unknown[] = []) => ({
    type: 'success',
    response: { decision, diagnostics: { reason, errors } },
    warnings: [],
  })

  it.each<[string, () => unknown]>([
    ['allows without a policy', () => response('allow', [])],
    ['allows by a policy that is not in the set', () => response('allow', ['ghost'])],
    ['allows by a forbid', () => response('allow', ['large-refund'])],
    ['says something else', () => response('maybe', ['support-refunds'])],
    [
      'allows with an error',
      () => response('allow', ['support-refunds'], [{ policyId: 'x', error: { message: 'm' } }]),
    ],
    ['denies by a policy that is not in the set', () => response('deny', ['ghost'])],
    ['fails', () => ({ type: 'failure', errors: [{ message: 'm' }], warnings: [] })],
    ['says nothing', () => undefined],
    [
      'throws',
      () => {
        throw new TypeError('boom')
      },
    ],
    [
      'throws no error',
      () => {
        throw null
      },
    ],
  ])('%s: an error value', async (_case, answer) => {
    expect((await answering(answer)).kind).toBe('error')
  })
})
