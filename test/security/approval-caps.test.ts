import { afterEach, describe, expect, it } from '@jest/globals'
import { PAYMENTS } from '../support/manifests.js'
import { openItems } from '../support/open-items.js'
import { OTHER_TOKEN, POLICIES } from '../support/rig.js'
import { type Proxied, proxied } from './proxied.js'

const BOTH = POLICIES.replace('principal == Agent::"support-bot"', 'principal')
const call = (order: number, more = {}) => ({
  target: '/v1/refunds',
  body: JSON.stringify({ order: `o-${order}`, currency: 'EUR', amount: '150.00' }),
  ...more,
})

describe('open approvals of one agent', () => {
  let at: Proxied
  afterEach(() => at.close())
  const start = async (openPerAgent: number): Promise<void> => {
    at = await proxied({ manifest: PAYMENTS, policies: BOTH, openPerAgent })
  }

  it('100 concurrent calls at a cap of 3 open exactly 3; the others are 429, each with a capsule', async () => {
    await start(3)
    const told = await Promise.all(Array.from({ length: 100 }, (_, order) => at.post(call(order))))
    expect(told.filter(({ status }) => status === 202)).toHaveLength(3)
    const refused = told.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(97)
    expect(refused[0]?.problem).toMatchObject({
      code: 'approvals_exhausted',
      retry_after_seconds: 60,
      dispatched: false,
    })
    expect((await at.types()).filter((type) => type === 'APPROVAL_OPENED')).toHaveLength(3)
    expect(await openItems(at.rig.gate.data.state)).toHaveLength(3)
    const verdicts = (await at.rig.capsules()).map(
      ({ capsule }) => capsule.disposition.verdict_class,
    )
    expect(verdicts.filter((verdict) => verdict === 'denied')).toHaveLength(97)
    expect(at.reached).toEqual([])
  })

  it('joins are not counted, nor other agents, nor calls that nobody is asked about', async () => {
    await start(1)
    const first = await at.post(call(1))
    expect(await at.post(call(2))).toMatchObject({ status: 429 })
    const joined = await at.post(call(1))
    expect(joined).toMatchObject({ status: 202 })
    expect(joined.problem?.approval_id).toBe(first.problem?.approval_id)
    expect(await at.post(call(3, { token: OTHER_TOKEN }))).toMatchObject({ status: 202 })
    const small = JSON.stringify({ order: 'o', currency: 'EUR', amount: '5.00' })
    expect(await at.post({ target: '/v1/refunds', body: small })).toMatchObject({ status: 200 })
  })

  it('a decision makes room, also after a restart', async () => {
    await start(1)
    const { problem } = await at.post(call(1))
    await at.restart()
    expect(await at.post(call(2))).toMatchObject({ status: 429 })
    await at.say(problem?.approval_id, { kind: 'deny', reason: 'no' })
    expect(await at.post(call(2))).toMatchObject({ status: 202 })
    expect(await at.post(call(3))).toMatchObject({ status: 429 })
  })

  it('a request that supersedes another under changed rules takes its place', async () => {
    await start(1)
    const first = await at.post(call(1))
    await at.restart({
      policies: `${BOTH}\n@id("x") permit (principal == Agent::"x", action, resource);`,
    })
    const next = await at.post(call(1))
    expect(next).toMatchObject({ status: 202 })
    expect(next.problem?.approval_id).not.toBe(first.problem?.approval_id)
    expect(await openItems(at.rig.gate.data.state)).toHaveLength(1)
  })
})
