import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { approvalSources } from '../../src/app/admin.js'
import { jsonDigest } from '../../src/core/json/build.js'
import type { Plain } from '../../src/core/json/value.js'
import type { Answered } from '../mounts/admin/harness.js'
import {
  type Detail,
  decision,
  detail,
  type Plane,
  startPlane,
  waiting,
} from '../mounts/approver/harness.js'
import { PAYMENTS } from '../support/manifests.js'

/** A chat that vouches for people must have shown them the arguments (promise 4). */
const SECRET = `whsec_${randomBytes(24).toString('base64')}`
const OTHER = `whsec_${randomBytes(24).toString('base64')}`
const MANIFEST = PAYMENTS.replace(
  '    constraints:',
  '    hitl: {min_assurance: L2}\n    constraints:',
)
let plane: Plane
let order = 0
let message = 0
const next = () => waiting(plane, `o-${++order}`)

const start = (manifest: string): Promise<Plane> => {
  const secret = (name: string) => ({ kind: 'env', name }) as const
  const common = { people: {}, roles: ['approver'] }
  return startPlane({
    manifest,
    sources: (tokens) =>
      approvalSources(
        {
          chat: {
            ...common,
            secret: secret('CHAT'),
            asserts_people: true,
            people: { U1: 'the-approver' },
          },
          tickets: { ...common, secret: secret('TICKETS'), asserts_people: false },
        },
        tokens,
        { CHAT: SECRET, TICKETS: OTHER },
      ),
  })
}
beforeAll(async () => {
  plane = await start(PAYMENTS)
})
afterAll(() => plane.close())

function deliver(
  item: Detail,
  more: Record<string, unknown> = {},
  { secret = SECRET, to = plane }: { secret?: string; to?: Plane } = {},
): Promise<Answered> {
  const id = `msg_${++message}`
  const at = new Date()
  const text = JSON.stringify({
    source: 'chat',
    approval_id: item.approval_id,
    person: 'U1',
    decision: 'approve',
    digest: item.document_digest,
    ...more,
  })
  return to.ask('POST', '/v1/decisions', {
    as: null,
    body: text,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign(id, at, text),
    },
  })
}
const votes = async (item: Detail) =>
  (await plane.rig.lines()).filter(
    ({ type, approval_id }) => type === 'APPROVAL_VOTED' && approval_id === item.approval_id,
  )
const refusedAsUnseen = async (item: Detail, answered: Answered): Promise<void> => {
  expect([answered.status, answered.json().code]).toEqual([403, 'not_shown'])
  expect(answered.json<{ detail: string }>().detail).toMatch(
    /Show the person every argument .* or link them to the page/,
  )
  expect(await votes(item)).toEqual([])
  expect(await detail(plane, item.approval_id)).toMatchObject({ state: 'pending', votes: 0 })
}

describe('a decision that a chat delivers for a person', () => {
  it.each([
    ['approve', {}],
    ['deny', { reason: 'no' }],
    ['defer', { ttl_seconds: 900 }],
    ['approve_with_bounds', { bounds: { small: { amount: { lte: '300.00' } } } }],
  ])(
    '%s without the digest of what was shown is refused and is nobody\u2019s vote',
    async (kind, more) => {
      const item = await next()
      await refusedAsUnseen(item, await deliver(item, { decision: kind, ...more }))
    },
  )

  it('with the digest of another request\u2019s arguments is refused', async () => {
    const [shown, item] = [await next(), await next()]
    await refusedAsUnseen(item, await deliver(item, { shown_digest: shown.arguments_digest }))
  })

  it('with the digest of the document instead of the arguments is refused', async () => {
    const item = await next()
    await refusedAsUnseen(item, await deliver(item, { shown_digest: item.document_digest }))
  })

  it('is refused when the arguments cannot be shown any more', async () => {
    const own = await start(PAYMENTS)
    try {
      const item = await waiting(own, 'o-erased')
      const day = new Date().toISOString().slice(0, 10)
      await own.gate.data.evidence.erase({ operator: 'acme', day })
      const said = { decision: 'deny', reason: 'no', shown_digest: item.arguments_digest }
      const answered = await deliver(item, said, { to: own })
      expect([answered.status, answered.json().code]).toEqual([403, 'not_shown'])
    } finally {
      await own.close()
    }
  })

  it('with the digest of its arguments is a person\u2019s, at L2', async () => {
    const item = await next()
    const answered = await deliver(item, { shown_digest: item.arguments_digest })
    expect(answered.json()).toMatchObject({ state: 'approved' })
    expect(await votes(item)).toMatchObject([{ by: 'person', assurance: 'L2' }])
  })
})

describe('the digest of what is shown', () => {
  it('is the JSON-DIGEST of the document\u2019s arguments, and stands beside them as people read them', async () => {
    const item = await waiting(plane, 'to \u061F 11 22 33')
    const args = (item.document as { arguments: Plain }).arguments
    expect(item.arguments_digest).toBe(jsonDigest(args, nodeCrypto))
    expect(item.shown).toContain('"agent": "support-bot"')
    expect(item.shown).toContain('"tool": "create_refund"')
    expect(item.shown).toContain('sent as: "value": "to \\u{61F} 11 22 33"')
  })

  it('stands in no line of the journal', async () => {
    const item = await next()
    await deliver(item, { shown_digest: item.arguments_digest })
    expect(JSON.stringify(await plane.rig.lines())).not.toContain(item.arguments_digest)
  })
})

describe('levels', () => {
  it('where L2 is asked for, neither the page\u2019s L1 nor a chat that showed nothing is enough', async () => {
    const strict = await start(MANIFEST)
    try {
      const item = await waiting(strict, 'o-strict')
      const page = await decision(strict, item, { decision: 'approve' })
      expect(page.json().code).toBe('assurance_too_low')
      expect((await deliver(item, {}, { to: strict })).json().code).toBe('not_shown')
      const shown = { shown_digest: item.arguments_digest }
      expect((await deliver(item, shown, { to: strict })).json()).toMatchObject({
        state: 'approved',
      })
    } finally {
      await strict.close()
    }
  })

  it('a system that vouches for nobody needs no digest and stays policy', async () => {
    const item = await next()
    const answered = await deliver(item, { source: 'tickets' }, { secret: OTHER })
    expect(answered.json()).toMatchObject({ state: 'approved' })
    expect(await votes(item)).toMatchObject([{ by: 'machine' }])
  })
})
