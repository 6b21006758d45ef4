import { describe, expect, it } from '@jest/globals'
import type { Capsule } from '../../src/core/capsule/model.js'
import { ask } from '../mounts/proxy/harness.js'
import { httpServer } from '../support/readers/http-server.js'
import { php } from '../support/readers/php.js'
import { rack } from '../support/readers/rack.js'
import { expectRefused, FORM, octets, type Scene, type Sent, scenes } from './harness.js'

/** What stays refused where a manifest is open (v1) or nothing is enforced (observe). */
const { inFrontOf } = scenes()
const TOOLS = `id: com.acme.shop
tools:
  export: {match: GET /orders/export}
  read: {match: "GET /orders/{id}", args: {id: string, limit: integer?}, irreversibility: two_way}
  pay: {match: POST /pay, args: {amount: decimal, to: {type: string, query: to}}}
  touch: {match: POST /touch, args: {id: {type: string, query: id}}, irreversibility: two_way}
`
const V1 = `manifest: gate.constraints/v1\n${TOOLS}`
const V2 = `manifest: gate.constraints/v2\n${TOOLS}`

/** Refused whatever the manifest's version and the gate's mode. */
const NEVER: readonly (readonly [string, Sent, string])[] = [
  ['look-alike in the query', { line: 'GET /orders/7?[limit]=9' }, 'arguments_invalid'],
  ['another letter case', { line: 'GET /orders/7?LIMIT=9' }, 'arguments_invalid'],
  ['a path argument in the query', { line: 'GET /orders/7?id=9' }, 'arguments_invalid'],
  ['an argument twice', { line: 'GET /orders/7?limit=1&limit=9' }, 'arguments_invalid'],
  ['; in the query', { line: 'POST /touch?id=1;x=2' }, 'arguments_invalid'],
  ['_method in the query', { line: 'POST /touch?id=1&_method=DELETE' }, 'arguments_invalid'],
  [
    'an argument in query and body',
    { line: 'POST /pay?to=me&amount=9', body: '{"amount":"1"}' },
    'arguments_invalid',
  ],
  [
    'a query argument in the body',
    { line: 'POST /pay?to=me', body: '{"amount":"1","to":"you"}' },
    'arguments_invalid',
  ],
  [
    'a member in another letter case',
    { line: 'POST /pay?to=me', body: '{"amount":"1","Amount":"9"}' },
    'arguments_invalid',
  ],
  ['a path in another letter case', { line: 'GET /orders/EXPORT' }, 'target_ambiguous'],
  ['a path with a suffix', { line: 'GET /orders/export.json' }, 'target_ambiguous'],
  ['a path with ;', { line: 'GET /orders/export;x' }, 'target_malformed'],
  ['a path with a trailing dot', { line: 'GET /orders/export.' }, 'target_malformed'],
]

describe('gate.constraints/v1', () => {
  it('lets every further name and member through', async () => {
    const at = await inFrontOf(rack, V1)
    expect((await at.send({ line: 'GET /orders/7?limit=1&page[size]=2&role=x' })).status).toBe(200)
    const body = '{"amount":"1","role":"admin","meta":{"x":1}}'
    expect((await at.send({ line: 'POST /pay?to=me&trace=1', body })).status).toBe(200)
    expect(at.app.ran.map(({ tool }) => tool)).toEqual(['read', 'pay'])
  })

  it('lets a body through that nothing reads, on a connection of its own', async () => {
    const at = await inFrontOf(httpServer, V1)
    const before = at.app.connections()
    const smuggled = 'DELETE /orders/1 HTTP/1.1\r\nhost: x\r\n\r\n'
    for (const line of ['GET /orders/7', 'POST /touch?id=1', 'GET /orders/8']) {
      expect((await at.send({ line, body: smuggled, type: 'text/plain' })).status).toBe(200)
    }
    expect(at.app.ran.map(({ tool }) => tool)).toEqual(['read', 'touch', 'read'])
    expect(at.app.connections() - before).toBe(3)
  })

  it.each(NEVER)('refuses all the same: %s', async (_, request, code) => {
    const at = await inFrontOf(rack, V1)
    expectRefused(await at.send(request), code)
    expect(at.app.ran).toEqual([])
  })

  it.each([
    ['id=9', FORM],
    ['_method=DELETE', FORM],
    ['[id]=9', null],
  ])('refuses the unread form %s', async (body, type) => {
    const at = await inFrontOf(rack, V1)
    expectRefused(await at.send({ line: 'POST /touch?id=1', body, type }), 'arguments_invalid')
    expect(at.app.ran).toEqual([])
  })
})

describe('a manifest that names v2, or no version', () => {
  it.each([
    ['v2', V2],
    ['none', TOOLS],
  ])('is closed: %s', async (_, manifest) => {
    const at = await inFrontOf(rack, manifest)
    const body = '{"amount":"1","role":"admin"}'
    expectRefused(await at.send({ line: 'POST /pay?to=me', body }), 'member_not_read')
    expectRefused(
      await at.send({ line: 'POST /pay?to=me&x=1', body: '{"amount":"1"}' }),
      'query_not_read',
    )
    expectRefused(
      await at.send({ line: 'POST /touch?id=1', body: 'a=1', type: FORM }),
      'body_not_read',
    )
    expect(at.app.ran).toEqual([])
  })
})

describe.each([
  ['the gate observes', TOOLS, { mode: 'observe' as const }],
  ['the manifest observes', TOOLS.replace('tools:', 'mode: observe\ntools:'), {}],
])('where %s', (_, manifest, more) => {
  const sent = async (
    at: Scene<unknown>,
    request: Sent,
  ): Promise<{ status: number; capsule: Capsule }> => {
    const { result, capsules } = await at.stand.after(() => ask(at.stand.port, octets(request)))
    expect(capsules).toHaveLength(1)
    return { status: result.status, capsule: capsules[0] as Capsule }
  }

  it.each([
    ['query', { line: 'POST /pay?to=me&s3cret=1', body: '{"amount":"1"}' }, { query: ['s3cret'] }],
    [
      'member',
      { line: 'POST /pay?to=me', body: '{"amount":"1","s3cret":1}' },
      { members: ['/s3cret'] },
    ],
  ])('a closed %s name passes, and the record has it in private', async (_kind, request, named) => {
    const at = await inFrontOf(php, manifest, more)
    const { status, capsule } = await sent(at, request)
    expect(status).toBe(200)
    expect(at.app.ran).toHaveLength(1)
    const text = JSON.stringify(capsule)
    expect(text).toContain('dev.capsulegate.not_read')
    expect(text).not.toContain('s3cret')
    const evidence = await at.stand.gate.data.evidence.byAction(capsule.action_id)
    if (evidence.state !== 'present') throw new Error(evidence.state)
    const part = evidence.value.find(({ name }) => name === 'dev.capsulegate.not_read')
    expect(part?.value ?? JSON.parse(part?.text ?? '{}')).toMatchObject(named)
  })

  it('a body that nothing reads does not', async () => {
    const at = await inFrontOf(httpServer, manifest, more)
    for (const line of ['GET /orders/7', 'POST /touch?id=1']) {
      expectRefused(await at.send({ line, body: 'a=1', type: FORM }), 'body_not_read')
    }
    expect(at.app.ran).toEqual([])
  })

  it.each(NEVER)('refuses all the same: %s', async (_name, request, code) => {
    const at = await inFrontOf(php, manifest, more)
    expectRefused(await at.send(request), code)
    expect(at.app.ran).toEqual([])
  })
})
