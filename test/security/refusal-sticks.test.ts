import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { tenantKeys } from '../../src/app/tenant/keys.js'
import { callText } from '../../src/core/approval/document.js'
import { verifyEvent } from '../../src/core/journal/event.js'
import { match } from '../../src/core/manifest/route/match.js'
import { readArgs } from '../../src/core/manifest/route/read-args.js'
import type { Outcome } from '../../src/gate/approval/decide/model.js'
import { decide, machine, person } from '../support/approvals.js'
import { httpCall, PAYMENTS, routerOf } from '../support/manifests.js'
import { OTHER_TOKEN, POLICIES } from '../support/rig.js'
import { TENANT } from '../support/tenant.js'
import { type Proxied, proxied } from './proxied.js'

const DENY: Outcome = { kind: 'deny', reason: 'not this customer' }
const MANIFEST = `${PAYMENTS}    forward_headers: [x-note]\n`
const BOTH = POLICIES.replace('principal == Agent::"support-bot"', 'principal')
const body = (amount: string): string => `{"order":"o-1","currency":"EUR","amount":${amount}}`
const REFUND = { target: '/v1/refunds', body: body('"150.00"') }

let at: Proxied
const start = async (hitl = '', policies = BOTH): Promise<void> => {
  at = await proxied({ manifest: `${MANIFEST}${hitl}`, policies })
}
/** Asks, and a person says no: the answers of both. */
async function refusedOnce(request = REFUND) {
  const { problem } = await at.post(request)
  const told = await at.say(problem?.approval_id, DENY)
  if (told.kind !== 'recorded' || told.state !== 'refused') throw new Error(JSON.stringify(told))
  return { id: String(problem?.approval_id), capsule: told.capsuleId }
}
const events = async (type: string): Promise<number> =>
  (await at.types()).filter((each) => each === type).length

describe('after a person said no', () => {
  afterEach(() => at.close())

  it('the identical call is 403 approval_refused, naming the refusing capsule, by an event alone', async () => {
    await start()
    const { id, capsule } = await refusedOnce()
    const before = await at.rig.capsules()
    for (let i = 0; i < 3; i++) {
      const again = await at.post(REFUND)
      expect(again).toMatchObject({ status: 403, problem: { code: 'approval_refused' } })
      expect(again.problem).toMatchObject({ approval_id: id, capsule_id: capsule })
      expect(again.headers.get('gate-capsule')).toBe(capsule)
    }
    expect(await at.rig.capsules()).toHaveLength(before.length)
    expect(await events('REFUSAL_REPEATED')).toBe(3)
    expect(await events('APPROVAL_OPENED')).toBe(1)
    expect(at.reached).toEqual([])
  })

  it.each([
    ['other headers', { ...REFUND, headers: { 'x-note': 'please', accept: '*/*' } }],
    ['a new key', { ...REFUND, headers: { 'idempotency-key': 'k-2' } }],
    ['Prefer: wait', { ...REFUND, headers: { prefer: 'wait=20' } }],
    [
      'another order of members',
      { ...REFUND, body: '{"amount":"150.00", "currency":"EUR",\n"order":"o-1"}' },
    ],
    ['another spelling of the amount', { ...REFUND, body: body('150') }],
    ['zeros behind the point', { ...REFUND, body: body('"150.0000"') }],
    ['an escaped letter', { ...REFUND, body: body('"150.00"').replace('o-1', '\\u006f-1') }],
  ])('the same call with %s is the same call', async (_, request) => {
    await start()
    const { capsule } = await refusedOnce()
    const again = await at.post(request)
    expect(again).toMatchObject({ status: 403, problem: { code: 'approval_refused' } })
    expect(again.problem?.capsule_id).toBe(capsule)
    expect(await events('APPROVAL_OPENED')).toBe(1)
  })

  it('naming the refused approval is 403 approval_refused, with other headers too', async () => {
    await start()
    const { id, capsule } = await refusedOnce()
    for (const more of [{}, { 'x-note': 'please' }]) {
      const again = await at.post({ ...REFUND, headers: { 'gate-approval': id, ...more } })
      expect(again).toMatchObject({ status: 403, problem: { code: 'approval_refused' } })
      expect(again.problem?.capsule_id).toBe(capsule)
    }
  })

  it('naming another open approval gains nothing', async () => {
    await start()
    await refusedOnce()
    const other = await at.post({ ...REFUND, body: body('"160.00"') })
    const headers = { 'gate-approval': String(other.problem?.approval_id) }
    expect(await at.post({ ...REFUND, headers })).toMatchObject({ status: 409 })
    expect(await events('APPROVAL_OPENED')).toBe(2)
  })

  it('other arguments and other agents are asked about as ever', async () => {
    await start()
    await refusedOnce()
    expect(await at.post({ ...REFUND, body: body('"150.01"') })).toMatchObject({ status: 202 })
    expect(await at.post({ ...REFUND, token: OTHER_TOKEN })).toMatchObject({ status: 202 })
  })

  it('it survives a restart, from lines and from a snapshot, and ends at its time', async () => {
    await start()
    const { capsule } = await refusedOnce()
    await at.restart({ snapshotEvery: 1 })
    expect((await at.post(REFUND)).problem?.capsule_id).toBe(capsule)
    await at.restart()
    expect((await at.post(REFUND)).problem?.capsule_id).toBe(capsule)
    at.time.advance(3599)
    expect(await at.post(REFUND)).toMatchObject({ status: 403 })
    at.time.advance(1)
    expect(await at.post(REFUND)).toMatchObject({ status: 202 })
  })

  it('hitl.refusal_seconds says for how long, also after the request itself is forgotten', async () => {
    await start('    hitl: {refusal_seconds: 2592000}\n')
    const { id, capsule } = await refusedOnce()
    at.time.advance(2_591_999)
    for (let i = 0; i < 20; i++) await at.post({ ...REFUND, body: body(`"${200 + i}"`) })
    await at.restart()
    expect((await at.post(REFUND)).problem?.capsule_id).toBe(capsule)
    expect(await at.rig.gate.reopen(id, { decider: person('bob'), reason: '' })).toEqual({
      kind: 'reopened',
    })
    expect(await at.post(REFUND)).toMatchObject({ status: 202 })
  })

  it("a machine's refusal, a withdrawal and a timeout do not stick", async () => {
    await start()
    const deny = async (id: unknown) =>
      decide(at.rig.gate, String(id), machine('fraud-engine'), DENY)
    await deny((await at.post(REFUND)).problem?.approval_id)
    const second = await at.post(REFUND)
    expect(second).toMatchObject({ status: 202 })
    await at.rig.gate.withdraw(String(second.problem?.approval_id), 'support-bot')
    expect(await at.post(REFUND)).toMatchObject({ status: 202 })
    at.time.advance(3600)
    await at.rig.gate.expireDue()
    expect(await at.post(REFUND)).toMatchObject({ status: 202 })
  })

  it('it stops no call that nobody has to be asked about: policy, a grant, observe mode', async () => {
    await start()
    const first = await at.post({ ...REFUND, headers: { 'x-note': 'first' } })
    await refusedOnce()
    const headers = { 'x-note': 'first' }
    expect(await at.post({ ...REFUND, headers })).toMatchObject({ status: 403 })
    await at.say(first.problem?.approval_id)
    expect(await at.post({ ...REFUND, headers })).toMatchObject({ status: 200 })

    await at.rig.gate.issueStanding({
      agent: 'support-bot',
      tool: 'create_refund',
      bounds: { small: { amount: { lte: '200' } } },
      expiresAt: new Date(at.time.clock.now() + 60_000).toISOString(),
      uses: 1,
      by: 'olga',
    })
    expect(await at.post(REFUND)).toMatchObject({ status: 200 })
    expect(await at.post(REFUND)).toMatchObject({ status: 403 })
    await at.restart({ mode: 'observe' })
    expect(await at.post(REFUND)).toMatchObject({ status: 200 })
    await at.restart({ mode: 'enforce', policies: BOTH.replace('100.0', '400.0') })
    expect(await at.post(REFUND)).toMatchObject({ status: 200 })
    expect(at.reached).toHaveLength(4)
  })

  it('reopen lifts it by a signed line, and only a person who may', async () => {
    await start()
    const { id } = await refusedOnce()
    const { gate } = at.rig
    const by = (decider: Parameters<typeof gate.reopen>[1]['decider']) =>
      gate.reopen(id, { decider, reason: 'misread it' })
    expect(await by(machine('fraud-engine'))).toMatchObject({ why: 'people_only' })
    expect(await by(person('support-bot'))).toMatchObject({ why: 'own_request' })
    expect(await by(person('eve', { roles: ['viewer'] }))).toMatchObject({ why: 'role' })
    expect(await at.post(REFUND)).toMatchObject({ status: 403 })
    expect(await by(person('olga', { roles: ['operator'] }))).toEqual({ kind: 'reopened' })
    const line = (await at.rig.lines()).find(({ type }) => type === 'REFUSAL_LIFTED')
    if (line === undefined) throw new Error('no line')
    expect(verifyEvent(line, gate.data.keys(), nodeCrypto)).toMatchObject({ ok: true })
    expect(JSON.stringify(line)).not.toMatch(/olga|misread/)
    expect(await by(person('bob'))).toMatchObject({ why: 'not_refused' })
    await at.restart()
    const asked = await at.post(REFUND)
    expect(asked).toMatchObject({ status: 202 })
    await at.say(asked.problem?.approval_id)
    expect(await at.post(REFUND)).toMatchObject({ status: 200 })
  })
})

describe('the identity of a call', () => {
  const router = routerOf(`id: com.acme.t
tools:
  t:
    match: POST /t
    args: {order: string, amount: decimal, n: integer, ok: boolean, tags: strings, note: {type: string, optional: true}}
`)
  const identity = (text: string, letThrough = {}): string => {
    const call = httpCall('POST', '/t', text)
    const found = match(router, call)
    if (!found.ok) throw new Error(found.code)
    const read = readArgs(found, call)
    if (!read.ok) throw new Error(`${read.detail} in ${text}`)
    const said = { tool: found.route.rule.tool, args: read.args, letThrough }
    return callText(said)
  }
  const values = fc.record({
    order: fc.string(),
    units: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    n: fc.integer(),
    ok: fc.boolean(),
    tags: fc.array(fc.string(), { maxLength: 3 }),
    note: fc.option(fc.string()),
  })
  type Values = typeof values extends fc.Arbitrary<infer T> ? T : never
  /** Cents as a decimal, with as many zeros behind it as wanted. */
  const decimal = (units: number, zeros: number): string => {
    const digits = String(Math.abs(units)).padStart(3, '0')
    return `${units < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}${'0'.repeat(zeros)}`
  }
  type Spelling = {
    order: readonly number[]
    zeros: number
    space: string
    escape: boolean
    number: boolean
  }
  const spellings = fc.record({
    order: fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }),
    zeros: fc.nat({ max: 3 }),
    space: fc.constantFrom('', ' ', '\n\t'),
    escape: fc.boolean(),
    number: fc.boolean(),
  })
  const spelt = (given: Values, how: Spelling): string => {
    const text = (value: string): string => {
      const json = JSON.stringify(value)
      if (!how.escape) return json
      return json.replace(/[a-zA-Z](?<!\\.)/g, (letter, index: number) =>
        json[index - 1] === '\\' || /\\u[0-9a-f]{0,3}$/.test(json.slice(0, index))
          ? letter
          : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    }
    const amount = decimal(given.units, how.zeros)
    const members = [
      ['order', text(given.order)],
      ['amount', how.number ? amount : `"${amount}"`],
      ['n', String(given.n)],
      ['ok', String(given.ok)],
      ['tags', `[${given.tags.map(text).join(`,${how.space}`)}]`],
      ['note', given.note === null ? null : text(given.note)],
    ] as const
    const written = how.order.flatMap((index) => {
      const [name, value] = members[index] as (typeof members)[number]
      return value === null ? [] : [`"${name}"${how.space}:${how.space}${value}`]
    })
    return `${how.space}{${written.join(`${how.space},`)}}${how.space}`
  }

  it('is the same for any spelling of the same arguments', () => {
    fc.assert(
      fc.property(values, spellings, spellings, (given, one, other) => {
        expect(identity(spelt(given, one))).toBe(identity(spelt(given, other)))
      }),
    )
  })

  it('is another for any other arguments', () => {
    fc.assert(
      fc.property(values, values, spellings, (one, other, how) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        expect(identity(spelt(one, how))).not.toBe(identity(spelt(other, how)))
      }),
    )
  })

  it('is keyed by the tenant, and holds what was let through', () => {
    const text = '{"order":"o","amount":"1","n":1,"ok":true,"tags":[]}'
    expect(identity(text, { query: [['a', 'b']] })).not.toBe(identity(text))
    const other = tenantKeys(Buffer.alloc(32, 8))
    expect(TENANT.callIdentity(identity(text))).not.toBe(other.callIdentity(identity(text)))
  })
})
