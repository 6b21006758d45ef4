import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import { manifestWarnings } from '../../../../src/core/manifest/expand/warnings.js'
import type { ObjectModel } from '../../../../src/core/manifest/model.js'
import { manifestOf, problemsOf } from '../../../support/manifests.js'
import { objectModel } from '../../../support/object-model.js'

type Tools = { readonly [tool: string]: { readonly [key: string]: unknown } }
const ORDER = {
  type: 'order',
  id: 'order',
  states: ['created', 'paid', 'closed'],
  transitions: { pay: { from: 'created', to: 'paid' }, close: { from: ['paid'], to: 'closed' } },
}
const TOOLS: Tools = {
  pay: { match: 'POST /pay', args: { order: 'string' }, intent: 'required', thin: 'refuse' },
  close: { match: 'POST /close/{order}', args: { order: 'string' }, intent: 'required' },
  read: { match: 'GET /list', args: { page: 'integer?' }, irreversibility: 'two_way' },
}
const text = (object: unknown, tools: Tools = TOOLS): string =>
  JSON.stringify({ id: 'com.acme.orders', object, tools })
const tool = (name: string, more: Tools[string], tools: Tools = TOOLS): Tools => ({
  ...tools,
  [name]: { ...tools[name], ...more },
})

describe('the object of a manifest', () => {
  it('expands its short forms', () => {
    expect(manifestOf(text(ORDER)).object).toEqual({
      type: 'order',
      id: '{order}',
      states: ['created', 'paid', 'closed'],
      transitions: {
        pay: { from: ['created'], to: 'paid' },
        close: { from: ['paid'], to: 'closed' },
      },
    })
  })

  it.each([
    ['order', '{order}'],
    ['{order}', '{order}'],
    ['order:{order}', 'order:{order}'],
  ])('reads the id %s as %s', (id, full) => {
    expect(manifestOf(text({ ...ORDER, id })).object?.id).toBe(full)
  })

  it('needs no transitions, and tools need not say which object where they change none', () => {
    const { transitions: _, ...still } = ORDER
    const manifest = manifestOf(text(still, tool('read', { intent: 'optional' })))
    expect(manifest.object?.transitions).toEqual({})
    expect(JSON.stringify(manifestOf(JSON.stringify(manifest)))).toBe(JSON.stringify(manifest))
  })

  it('is part of the digest, down to each transition', () => {
    const digest = (object: unknown): string => manifestDigest(manifestOf(text(object)), nodeCrypto)
    const all = [
      undefined,
      ORDER,
      { ...ORDER, type: 'parcel' },
      { ...ORDER, id: 'order:{order}' },
      { ...ORDER, states: ['paid', 'created', 'closed'] },
      { ...ORDER, transitions: { pay: ORDER.transitions.pay } },
      { ...ORDER, transitions: { ...ORDER.transitions, pay: { from: 'paid', to: 'paid' } } },
    ].map(digest)
    expect(new Set(all).size).toBe(all.length)
    expect(digest({ ...ORDER, id: '{order}' })).toBe(digest(ORDER))
  })

  it('expands to itself, for any object and any keys of intent', () => {
    const keys = fc.record({
      intent: fc.constantFrom('required', 'optional'),
      thin: fc.option(fc.constantFrom('accept', 'refuse'), { nil: undefined }),
      cross_principal: fc.option(fc.constantFrom('allow', 'refuse'), { nil: undefined }),
    })
    const short = (model: ObjectModel, loose: boolean): unknown => ({
      ...model,
      id: loose ? 'order' : 'o:{order}',
      transitions: Object.fromEntries(
        Object.entries(model.transitions).map(([action, { from, to }]) => [
          action,
          { from: loose && from.length === 1 ? from[0] : from, to },
        ]),
      ),
    })
    fc.assert(
      fc.property(
        objectModel(6),
        fc.array(keys, { minLength: 12, maxLength: 12 }),
        fc.boolean(),
        (model, each, loose) => {
          const tools = Object.fromEntries(
            each.map((more, nth) => [`a${nth}`, { args: { order: 'string' }, ...more }]),
          )
          const manifest = manifestOf(text(short(model, loose), tools))
          const again = manifestOf(JSON.stringify(manifest))
          expect(JSON.stringify(again)).toBe(JSON.stringify(manifest))
          expect(manifestDigest(again, nodeCrypto)).toBe(manifestDigest(manifest, nodeCrypto))
          expect(JSON.parse(JSON.stringify(manifest.object))).toEqual({
            ...model,
            id: loose ? '{order}' : 'o:{order}',
          })
        },
      ),
    )
  })

  it.each<[string, unknown, Tools, string]>([
    ['no type', { ...ORDER, type: undefined }, TOOLS, 'the object has no type'],
    ['no id', { ...ORDER, id: undefined }, TOOLS, 'the object has no id'],
    ['no states', { ...ORDER, states: undefined }, TOOLS, 'the object has no states'],
    ['empty states', { ...ORDER, states: [], transitions: {} }, TOOLS, 'the object has no states'],
    [
      'a state twice',
      { ...ORDER, states: ['created', 'paid', 'closed', 'paid'] },
      TOOLS,
      'there twice',
    ],
    ['the state unknown', { ...ORDER, states: [...ORDER.states, 'unknown'] }, TOOLS, "gate's own"],
    [
      'a state that is no name',
      { ...ORDER, states: [...ORDER.states, 'a b'] },
      TOOLS,
      'is not a state',
    ],
    ['a list as text', { ...ORDER, states: 'created' }, TOOLS, 'expected a list'],
    ['another key', { ...ORDER, state: 'created' }, TOOLS, 'unknown key "state"'],
    ['a type with a line end', { ...ORDER, type: 'order\nx' }, TOOLS, "is not a type's name"],
    ['an id of no argument', { ...ORDER, id: 'nr' }, TOOLS, 'id names no argument'],
    [
      'an id of an argument that only a tool without intent has',
      { ...ORDER, id: '{page}' },
      TOOLS,
      'id names no argument',
    ],
    ['an id without argument', { ...ORDER, id: 'the:order' }, TOOLS, 'id names no argument'],
    [
      'an id of a member that every object has',
      { ...ORDER, id: 'constructor' },
      TOOLS,
      'id names no argument',
    ],
    ['an open brace', { ...ORDER, id: '{order' }, TOOLS, 'is not a template'],
    ['an empty name', { ...ORDER, id: 'o{}' }, TOOLS, 'is not a template'],
    ['a line end in the id', { ...ORDER, id: 'o\n{order}' }, TOOLS, 'is not a template'],
    [
      'a state that is not there',
      { ...ORDER, transitions: { pay: { from: 'new', to: 'paid' } } },
      TOOLS,
      'there is no state new',
    ],
    [
      'a way to a state that is not there',
      { ...ORDER, transitions: { pay: { from: 'paid', to: 'new' } } },
      TOOLS,
      'there is no state new',
    ],
    [
      'a way out of the unknown',
      { ...ORDER, transitions: { pay: { from: 'unknown', to: 'paid' } } },
      TOOLS,
      'there is no state unknown',
    ],
    ['no beginning', { ...ORDER, transitions: { pay: { to: 'paid' } } }, TOOLS, 'both ends'],
    ['no end', { ...ORDER, transitions: { pay: { from: 'paid' } } }, TOOLS, 'both ends'],
    [
      'an empty beginning',
      { ...ORDER, transitions: { pay: { from: [], to: 'paid' } } },
      TOOLS,
      'from no state',
    ],
    [
      'a beginning twice',
      { ...ORDER, transitions: { pay: { from: ['paid', 'paid'], to: 'paid' } } },
      TOOLS,
      'listed twice',
    ],
    [
      'an action that no tool has',
      { ...ORDER, transitions: { ship: { from: 'paid', to: 'closed' } } },
      TOOLS,
      'no tool has the action ship',
    ],
    [
      'the name of a tool with another action',
      ORDER,
      tool('pay', { action: 'settle' }),
      'no tool has the action pay',
    ],
    [
      'a tool that changes it and does not say which',
      ORDER,
      tool('pay', { args: {} }),
      'pay changes the object and has no argument order',
    ],
    [
      'an optional argument',
      ORDER,
      tool('pay', { args: { order: 'string?' } }),
      'order is optional',
    ],
    [
      'an object as argument',
      ORDER,
      tool('pay', { args: { order: 'object' } }),
      'of the type object',
    ],
    [
      'a list as argument',
      ORDER,
      tool('pay', { args: { order: 'strings' } }),
      'of the type strings',
    ],
  ])('is refused with %s', (_, object, tools, message) => {
    const problems = problemsOf(text(object, tools))
    expect(problems.map((problem) => problem.message)).toEqual([expect.stringContaining(message)])
    for (const { way_out } of problems) expect(way_out).not.toBe('')
  })

  it.each(['{tenant}{order}', '{tenant}-{order}', 'x:{tenant}%{order}'])(
    'is refused where two objects could have one id: %s',
    (id) => {
      const args = { tenant: 'string', order: 'string' }
      const tools = { pay: { args, intent: 'required' }, close: { args, intent: 'required' } }
      expect(problemsOf(text({ ...ORDER, id }, tools))[0]?.message).toContain('two objects')
      expect(problemsOf(text({ ...ORDER, id: '{tenant}:{order}' }, tools))).toEqual([])
    },
  )

  it('is refused with the place of each problem', () => {
    const yaml = `id: com.acme.orders
object:
  type: order
  id: order
  states: [created, paid]
  transitions:
    pay: {from: created, to: gone}
    ship: {from: paid, to: paid}
tools:
  pay: {args: {order: "string?"}, intent: required}
`
    expect(problemsOf(yaml)).toMatchObject([
      { path: '/object/transitions/pay/to', line: 7, message: 'there is no state gone' },
      { path: '/object/transitions/ship', line: 8, message: 'no tool has the action ship' },
    ])
    const corrected = yaml.replace('gone', 'paid').replace(/ {4}ship.*\n/, '')
    expect(problemsOf(corrected)).toMatchObject([
      { path: '/tools/pay', message: 'pay changes the object and order is optional' },
    ])
  })

  it('is no matter of tools without intent', () => {
    const tools = tool('pay', { intent: 'off', thin: undefined, args: {} })
    expect(problemsOf(text(ORDER, tools))).toEqual([])
  })
})

describe('warnings of an object', () => {
  const warnings = (tools: Tools, object: unknown = ORDER) =>
    manifestWarnings(manifestOf(text(object, tools))).map(({ tool, code }) => [tool, code])
  const none = tool('pay', { intent: 'off', thin: undefined }, tool('close', { intent: 'off' }))

  it('tell of one that no tool has intent for', () => {
    expect(warnings(none)).toEqual([[null, 'object_unused']])
    expect(warnings(none, null)).toEqual([])
  })

  it('tell of a tool that changes it without intent', () => {
    const tools = tool('close', { intent: 'off' })
    expect(warnings(tools)).toEqual([['close', 'transition_unseen']])
  })

  it('do not tell of optional intent', () => {
    expect(warnings(tool('close', { intent: 'optional', thin: 'refuse' }))).toEqual([])
  })
})
