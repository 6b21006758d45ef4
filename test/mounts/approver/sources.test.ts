import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { approvalSources } from '../../../src/app/admin.js'
import type { Answered } from '../admin/harness.js'
import { type Detail, detail, type Plane, startPlane, tokenFor, waiting } from './harness.js'

const SECRET = `whsec_${randomBytes(24).toString('base64')}`
const OTHER = `whsec_${randomBytes(24).toString('base64')}`
let plane: Plane
let order = 0
let message = 0
const next = () => waiting(plane, `o-${++order}`)

beforeAll(async () => {
  const secret = (name: string) => ({ kind: 'env', name }) as const
  plane = await startPlane({
    sources: (tokens) =>
      approvalSources(
        {
          chat: {
            secret: secret('CHAT'),
            asserts_people: true,
            people: { U1: 'the-approver', U2: 'nobody', U3: 'the-operator', U4: 'bot-token' },
            roles: ['approver'],
          },
          ticketing: {
            secret: secret('TICKETS'),
            asserts_people: false,
            people: {},
            roles: ['approver'],
          },
        },
        tokens,
        { CHAT: SECRET, TICKETS: OTHER },
      ),
  })
  tokenFor(plane, 'bot-token', { machine: true })
})
afterAll(() => plane.close())

type Sent = {
  readonly secret?: string
  readonly id?: string
  readonly at?: Date
  readonly signed?: string
  readonly headers?: Record<string, string>
}
function deliver(body: Record<string, unknown> | string, sent: Sent = {}): Promise<Answered> {
  const { secret = SECRET, id = `msg_${++message}`, at = new Date(), headers } = sent
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const signature = new Webhook(secret).sign(id, at, sent.signed ?? text)
  return plane.ask('POST', '/v1/decisions', {
    as: null,
    body: text,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signature,
      ...headers,
    },
  })
}
const by = (item: Detail, more: Record<string, unknown> = {}) => ({
  source: 'chat',
  approval_id: item.approval_id,
  person: 'U1',
  decision: 'approve',
  digest: item.document_digest,
  shown_digest: item.arguments_digest,
  ...more,
})
const votes = async (item: Detail) =>
  (await plane.rig.lines()).filter(
    ({ type, approval_id }) => type === 'APPROVAL_VOTED' && approval_id === item.approval_id,
  )

describe('a decision from an approval system', () => {
  it('is a human decision at L2 when it names a person mapped to an approver and shown the arguments', async () => {
    const item = await next()
    expect((await deliver(by(item))).json()).toMatchObject({ state: 'approved', repeated: false })
    expect(await votes(item)).toMatchObject([{ by: 'person', assurance: 'L2' }])
    await plane.refund('250.00', {}, `o-${order}`)
    const ran = (await plane.rig.capsules()).at(-1)
    expect(ran?.capsule.disposition).toMatchObject({
      verdict_class: 'executed',
      human_disposed: true,
    })
  })

  it('is policy when the system vouches for nobody, whoever it names', async () => {
    const item = await next()
    const body = by(item, { source: 'ticketing', decision: 'deny', reason: 'closed' })
    expect((await deliver(body, { secret: OTHER })).status).toBe(200)
    const last = (await plane.rig.capsules()).at(-1)
    expect(last?.capsule.disposition).toMatchObject({
      verdict_class: 'resolved',
      approver: 'policy',
      human_disposed: false,
    })
  })

  it.each([
    ['a person nobody mapped', 'U9'],
    ['one mapped to no token', 'U2'],
    ["one mapped to an operator's", 'U3'],
    ["one mapped to a machine's", 'U4'],
    ['nobody', undefined],
    ['a name of the prototype', 'constructor'],
  ])('is refused, not taken as policy, when a system for people names %s', async (_, person) => {
    const item = await next()
    const answered = await deliver(by(item, { person }))
    expect([answered.status, answered.json().code]).toEqual([403, 'not_asked'])
    expect(await detail(plane, item.approval_id)).toMatchObject({ state: 'pending', votes: 0 })
  })

  it('delivered again gives the first answer and records nothing', async () => {
    const item = await next()
    const first = await deliver(by(item), { id: 'same' })
    const lines = (await plane.rig.lines()).length
    const [again, anew] = [await deliver(by(item), { id: 'same' }), await deliver(by(item))]
    expect([again.status, anew.status]).toEqual([200, 200])
    expect(again.json()).toEqual({ ...first.json<object>(), repeated: true })
    expect(anew.json()).toMatchObject({ state: 'approved', repeated: true })
    expect((await plane.rig.lines()).length).toBe(lines)
  })

  it('delivered twenty times at once is one vote', async () => {
    const item = await next()
    const all = await Promise.all(
      Array.from({ length: 20 }, () => deliver(by(item), { id: 'storm' })),
    )
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await votes(item)).toHaveLength(1)
  })

  it('under a webhook-id that was used for another message is refused', async () => {
    const [a, b] = [await next(), await next()]
    await deliver(by(a), { id: 'reused' })
    const answered = await deliver(by(b), { id: 'reused' })
    expect([answered.status, answered.json().code]).toEqual([422, 'delivery_reused'])
    expect((await detail(plane, b.approval_id)).state).toBe('pending')
  })

  it('that contradicts the first is refused and recorded', async () => {
    const item = await next()
    await deliver(by(item))
    const answered = await deliver(by(item, { decision: 'deny', reason: 'no' }))
    expect([answered.status, answered.json().code]).toEqual([409, 'already_decided'])
    expect((await plane.rig.lines()).slice(-2)).toMatchObject([
      { type: 'DECISION_LOST' },
      { type: 'HEAD' },
    ])
  })

  it.each<[string, (item: Detail) => Promise<Answered>]>([
    ['without a signature', (item) => deliver(by(item), { headers: { 'webhook-signature': '' } })],
    ["with another system's secret", (item) => deliver(by(item), { secret: OTHER })],
    [
      'whose body was changed',
      (item) => deliver(by(item), { signed: JSON.stringify(by(item, { decision: 'deny' })) }),
    ],
    [
      'under another id than signed',
      (item) => deliver(by(item), { headers: { 'webhook-id': 'other' } }),
    ],
    ['ten minutes old', (item) => deliver(by(item), { at: new Date(Date.now() - 600_000) })],
    ['from the future', (item) => deliver(by(item), { at: new Date(Date.now() + 600_000) })],
    ['from a system nobody registered', (item) => deliver(by(item, { source: 'elsewhere' }))],
    ['that is no JSON', () => deliver('{')],
    [
      'with an approver token instead',
      (item) => plane.ask('POST', '/v1/decisions', { as: 'approver', body: by(item) }),
    ],
  ])('%s is one and the same 401', async (_, send) => {
    const item = await next()
    const answered = await send(item)
    expect([answered.status, answered.json().code]).toEqual([401, 'unauthenticated'])
    expect((await detail(plane, item.approval_id)).state).toBe('pending')
  })

  it('that is signed and wrong says what is wrong', async () => {
    const item = await next()
    const refusals = await Promise.all([
      deliver(by(item, { decision: 'maybe' })),
      deliver(by(item, { digest: '0'.repeat(64) })),
      deliver(by(item, { decision: 'deny' })),
      deliver(`"${'x'.repeat(70_000)}"`),
    ])
    expect(refusals.map(({ status }) => status)).toEqual([400, 409, 400, 413])
  })

  it('that was refused for a halt is judged anew when it comes again', async () => {
    const item = await next()
    await plane.gate.halt({ kind: 'all' }, 'test')
    expect((await deliver(by(item), { id: 'halted' })).status).toBe(409)
    await plane.gate.resume({ kind: 'all' }, 'test')
    expect((await deliver(by(item), { id: 'halted' })).status).toBe(200)
  })
})
