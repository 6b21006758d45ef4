import { describe, expect, it } from '@jest/globals'
import { FRAMEWORKS } from '../support/frameworks.js'
import { aspnet } from '../support/readers/aspnet.js'
import { rack } from '../support/readers/rack.js'
import { go, protobuf } from '../support/readers/typed-json.js'
import { expectRefused, scenes } from './harness.js'

/** JSON members that nothing reads, and second spellings of those that are read. */
const { inFrontOf, inFrontOfFramework } = scenes()
const MANIFEST = `id: com.acme.pay
tools:
  pay:
    match: POST /pay
    args: {amount: decimal, note: string?}
  pay_open:
    match: POST /open
    args: {amount: decimal, user_id: {type: string, body: /order/user_id}}
    also: {body: any}
  pay_listed:
    match: POST /listed
    args: {amount: {type: decimal, body: /order/amount}}
    also: {body: [/meta, /order/tags]}
    irreversibility: two_way
  store:
    match: PUT /store
    args: {id: string, profile: object, lines: objects?}
`

describe('a member that nothing reads', () => {
  it.each(FRAMEWORKS)('is not mass-assigned by %s', async (framework) => {
    const at = await inFrontOfFramework(framework, MANIFEST)
    const refused = await at.send({ line: 'POST /pay', body: '{"amount":"1","role":"admin"}' })
    expectRefused(refused, 'member_not_read', { pointer: '/role' })
    expect(at.app.understood).toEqual([])
    expect((await at.send({ line: 'POST /pay', body: '{"amount":"1","note":"x"}' })).status).toBe(
      200,
    )
    expect(at.app.understood).toMatchObject([{ body: { amount: '1', note: 'x' } }])
  })

  it('is refused at every depth, by its pointer, in every class', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const nested = [
      ['{"order":{"amount":"1","paid":true}}', '/order/paid'],
      ['{"order":{"amount":"1"},"a/b":1}', '/a~1b'],
      ['{"order":{"amount":"1"},"x":{"meta":1}}', '/x'],
      ['{"order":{"amount":"1"},"":0}', '/'],
      ['{"order":{"amount":"1"},"__proto__":{"admin":true}}', '/__proto__'],
    ] as const
    for (const [body, pointer] of nested) {
      expectRefused(await at.send({ line: 'POST /listed', body }), 'member_not_read', { pointer })
    }
    expect(at.app.ran).toEqual([])
  })

  it('passes below a pointer that also lists, and there only', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const body = '{"order":{"amount":"1","tags":["a"]},"meta":{"any":{"thing":1}}}'
    expect((await at.send({ line: 'POST /listed', body })).status).toBe(200)
    expect(at.app.ran).toMatchObject([{ bags: { params: JSON.parse(body) } }])
    for (const other of ['"Meta":1', '"metadata":1', '"tags":["a"]']) {
      const more = `{"order":{"amount":"1"},${other}}`
      const refused = await at.send({ line: 'POST /listed', body: more })
      expect([refused.status, refused.verdicts]).toEqual([400, ['denied']])
    }
    expect(at.app.ran).toHaveLength(1)
  })

  it('passes anywhere under any', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const body = '{"amount":"1","order":{"user_id":"7","x":1},"role":"admin"}'
    expect((await at.send({ line: 'POST /open', body })).status).toBe(200)
    expect(at.app.ran).toHaveLength(1)
  })

  it('a list or a text in the place of the object is no way around', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    for (const body of [
      '[{"amount":"1"}]',
      '"amount"',
      '[]',
      '{"amount":["1"]}',
      '{"amount":{"x":"1"}}',
    ]) {
      const refused = await at.send({ line: 'POST /pay', body })
      expect([refused.status, refused.verdicts]).toEqual([400, ['denied']])
    }
    expect(at.app.ran).toEqual([])
  })
})

describe('a second spelling of a member', () => {
  it.each([
    ['Go', 'POST /pay', '{"amount":"1","AMOUNT":"9"}', go],
    ['Go', 'POST /pay', '{"Amount":"9","amount":"1"}', go],
    ['Go', 'POST /open', '{"amount":"1","order":{"user_id":"7","User_ID":"9"}}', go],
    ['Go', 'POST /open', '{"amount":"1","order":{"user_id":"7"},"ORDER":{"user_id":"9"}}', go],
    [
      'protobuf-JSON',
      'POST /open',
      '{"amount":"1","order":{"user_id":"7","userId":"9"}}',
      protobuf,
    ],
    ['ASP.NET', 'POST /open', '{"aMOUNT":"9","amount":"1","order":{"user_id":"7"}}', aspnet],
  ] as const)('misleads %s, and is refused: %s %s', async (_, line, body, reader) => {
    const at = await inFrontOf(reader, MANIFEST)
    const refused = await at.send({ line, body })
    expectRefused(refused, 'arguments_invalid')
    expect(at.app.ran).toEqual([])
  })

  it('alone is refused as well, where the argument is optional', async () => {
    const at = await inFrontOf(go, MANIFEST)
    for (const name of ['Note', 'NOTE', 'n_ote']) {
      const body = `{"amount":"1","${name}":"x"}`
      expectRefused(await at.send({ line: 'POST /pay', body }), 'arguments_invalid')
    }
    expect(at.app.ran).toEqual([])
  })

  it('a member twice is refused, however it is escaped', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    for (const body of ['{"amount":"1","amount":"9"}', '{"amount":"1","\\u0061mount":"9"}']) {
      expectRefused(await at.send({ line: 'POST /pay', body }), 'body_unreadable')
    }
    expect(at.app.ran).toEqual([])
  })

  it('_method as a member is refused under any', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const body = '{"amount":"1","order":{"user_id":"7"},"_method":"DELETE"}'
    expectRefused(await at.send({ line: 'POST /open', body }), 'arguments_invalid')
    expect(at.app.ran).toEqual([])
  })
})

describe('object and objects', () => {
  it('are read whole: whatever is in them passes and nothing beside them', async () => {
    const at = await inFrontOf(go, MANIFEST)
    const body = '{"id":"1","profile":{"a":1,"role":"x","id":"9"},"lines":[{"x":1},{}]}'
    expect((await at.send({ line: 'PUT /store', body })).status).toBe(200)
    expect(at.app.ran).toMatchObject([{ bags: { message: JSON.parse(body) } }])
    const extra = '{"id":"1","profile":{},"role":"admin"}'
    expectRefused(await at.send({ line: 'PUT /store', body: extra }), 'member_not_read', {
      pointer: '/role',
    })
    const spelt = '{"id":"1","profile":{},"Profile":{"a":9}}'
    expectRefused(await at.send({ line: 'PUT /store', body: spelt }), 'arguments_invalid')
  })

  it('are of that type or refused', async () => {
    const at = await inFrontOf(go, MANIFEST)
    for (const body of [
      '{"id":"1","profile":[]}',
      '{"id":"1","profile":"x"}',
      '{"id":"1","profile":{},"lines":{}}',
      '{"id":"1","profile":{},"lines":[1]}',
      '{"id":"1"}',
    ]) {
      expectRefused(await at.send({ line: 'PUT /store', body }), 'arguments_invalid')
    }
    expect(at.app.ran).toEqual([])
  })
})
