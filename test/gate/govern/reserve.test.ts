import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Approved, Parts } from '../../../src/gate/context.js'
import { reserve } from '../../../src/gate/govern/reserve.js'
import type { Conflict, ReserveRequest } from '../../../src/ports/state.js'
import { type Rig, rig } from '../../support/rig.js'
import { approved, post } from './stages.js'

const MANIFEST = `id: com.acme.orders
tools:
  order:
    match: POST /v1/orders
    args: {order: string}
    constraints:
      asks: {count: {max: 1, window: 1h}, on_fail: hitl}
      refuses: {count: {max: 1, window: 2h}}
      once: {dedupe: {per: [order], window: 3h}}
`
const id = (name: string): string => `com.acme.orders.${name}`

let at: Rig
let call: Approved
beforeAll(async () => {
  at = await rig({
    manifest: MANIFEST,
    policies: '@id("p") permit (principal == Agent::"support-bot", action, resource);',
  })
  call = await approved(post('/v1/orders', { order: 'o' }), at.gate.parts)
})
afterAll(() => at.close())

/** The state's port, with the results that are wanted, in order; a real one where there are no more. */
function answering(...conflicts: Conflict[]): { parts: Parts; asked: ReserveRequest[] } {
  const { parts } = at.gate
  const asked: ReserveRequest[] = []
  const state = {
    ...parts.state,
    async reserve(request: ReserveRequest) {
      asked.push(request)
      const next = conflicts.shift()
      return next ?? ({ kind: 'reserved', actionId: request.actionId, readings: [] } as const)
    },
  }
  return { parts: { ...parts, state }, asked }
}
const readings = (...full: string[]) =>
  ['asks', 'refuses', 'once'].map((name) => ({
    constraint: id(name),
    prior: full.includes(name) ? '1' : '0',
    within: !full.includes(name),
  }))
const budget = (...full: string[]): Conflict => ({ kind: 'budget', readings: readings(...full) })
const GRANT = { grant: 'g-1', decisionId: 'g-1', supersedes: 'f'.repeat(64) }

it('takes grant, key, item and budgets in one request', async () => {
  const { parts, asked } = answering()
  expect(await reserve({ ...call, ...GRANT, keyHash: 'a'.repeat(64) }, parts)).toMatchObject({
    reserved: true,
  })
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatchObject({
    operator: 'acme',
    agent: 'support-bot',
    key: 'a'.repeat(64),
    grant: 'g-1',
    item: { approvalId: 'g-1', parent: GRANT.supersedes },
  })
})

describe('a full window', () => {
  it('that refuses is the reason, with its own time to wait', async () => {
    expect(await reserve(call, answering(budget('asks', 'refuses')).parts)).toMatchObject({
      code: 'budget_exceeded',
      reason: { constraint: id('refuses'), observed: '1' },
      details: { retry_after_seconds: 7200 },
    })
    expect(await reserve(call, answering(budget('once')).parts)).toMatchObject({
      code: 'duplicate_call',
      details: { retry_after_seconds: 10_800 },
    })
  })

  it('that asks sends the call to a person, unless another refuses', async () => {
    expect(await reserve(call, answering(budget('asks')).parts)).toEqual({
      reserved: false,
      asking: [id('asks')],
      readings: readings('asks'),
    })
  })

  it('that asks is only counted for a call with a grant', async () => {
    const { parts, asked } = answering()
    await reserve({ ...call, ...GRANT }, parts)
    const advisory = asked[0]?.budgets.map(({ constraint, advisory }) => [constraint, advisory])
    expect(advisory).toEqual([
      [id('asks'), true],
      [id('refuses'), false],
      [id('once'), false],
    ])
  })
})

describe('an item that another action holds', () => {
  it('does not stop a call that needs no grant of it: it runs without closing it', async () => {
    const { parts, asked } = answering({ kind: 'item' })
    const standing = { ...call, ...GRANT, grant: 'standing-1' }
    expect(await reserve(standing, parts)).toMatchObject({ reserved: true, supersedes: null })
    expect(asked.map(({ item }) => item === null)).toEqual([false, true])
  })

  it('stops the call whose grant it is, and stays as it is', async () => {
    const left = await reserve({ ...call, ...GRANT }, answering({ kind: 'item' }).parts)
    expect(left).toMatchObject({
      code: 'approval_closed',
      details: { approval_id: 'g-1', approval_state: 'in_use' },
      known: { supersedes: null },
    })
  })
})

describe('a key that is held', () => {
  const held = (requestDigest: string): Conflict => ({
    kind: 'key',
    holder: { state: 'in_flight', actionId: 'a-1', requestDigest },
  })

  it('by the same request is in flight, by another a mismatch', async () => {
    expect(await reserve(call, answering(held(call.requestDigest)).parts)).toMatchObject({
      code: 'idempotency_in_flight',
      details: { held_by: 'a-1' },
    })
    expect(await reserve(call, answering(held('0'.repeat(64))).parts)).toMatchObject({
      code: 'idempotency_mismatch',
      details: {},
    })
  })

  it('and too many of them are refused', async () => {
    expect(await reserve(call, answering({ kind: 'keys_exhausted' }).parts)).toMatchObject({
      code: 'keys_exhausted',
    })
  })
})
