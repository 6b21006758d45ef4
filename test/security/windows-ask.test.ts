import { afterEach, describe, expect, it } from '@jest/globals'
import { expectConformance } from '../support/conformance.js'
import { openItems } from '../support/open-items.js'
import { type Proxied, proxied } from './proxied.js'

const MANIFEST = `id: com.acme.payments
tools:
  pay:
    match: POST /pay
    args: {to: string, amount: decimal}
    constraints:
      few: {count: {max: 3, per: [$agent], window: 1h}, on_fail: hitl}
  spend:
    match: POST /spend
    args: {to: string, amount: decimal}
    constraints:
      daily: {sum: {of: amount, max: "100", per: [$agent], window: 24h}, on_fail: hitl}
      hard: {sum: {of: amount, max: "500", per: [$agent], window: 24h}}
  once:
    match: POST /once
    args: {to: string, amount: decimal}
    constraints:
      not_twice: {dedupe: {per: [to], window: 1h}, on_fail: hitl}
`
const POLICIES = '@id("all") permit (principal == Agent::"support-bot", action, resource);'
const call = (target: string, to: string, amount = '10') => ({
  target,
  body: JSON.stringify({ to, amount }),
})

describe('on_fail: hitl on a window', () => {
  let at: Proxied
  afterEach(async () => {
    await expectConformance(at.rig)
    await at.close()
  })
  const start = async (more = {}): Promise<void> => {
    at = await proxied({ manifest: MANIFEST, policies: POLICIES, ...more })
  }
  const records = async () => (await at.rig.capsules()).at(-1)?.capsule.constraints ?? []

  it('count: the calls over the limit are asked about, never more than it run unasked', async () => {
    await start()
    const told = await Promise.all(
      Array.from({ length: 20 }, (_, i) => at.post(call('/pay', `p-${i}`))),
    )
    expect(told.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(told.filter(({ status }) => status === 202)).toHaveLength(17)
    expect(at.reached).toHaveLength(3)
  })

  it('the document names the constraint, and the record says that it failed', async () => {
    await start()
    for (const to of ['a', 'b', 'c']) await at.post(call('/pay', to))
    const { status, problem } = await at.post(call('/pay', 'd'))
    expect(status).toBe(202)
    expect((await at.shown(problem?.approval_id)).routed_by).toMatchObject({
      kind: 'constraint',
      ids: ['com.acme.payments.few'],
    })
    expect(await records()).toContainEqual(
      expect.objectContaining({ id: 'com.acme.payments.few', result: 'fail', blocking: true }),
    )
  })

  it('sum: the granted call runs once, counts in the window, and others still ask', async () => {
    await start()
    await at.post(call('/spend', 'a', '90'))
    const over = call('/spend', 'b', '200')
    const { problem } = await at.post(over)
    expect(await at.post(over)).toMatchObject({ status: 202 })
    await at.say(problem?.approval_id)
    expect(await at.post(over)).toMatchObject({ status: 200 })
    const ran = (await at.rig.capsules()).at(-1)?.capsule
    expect(ran?.disposition).toMatchObject({ verdict_class: 'executed', human_disposed: true })
    const own = (await records()).filter(({ id }) => id === 'com.acme.payments.daily')
    expect(own).toEqual([expect.objectContaining({ result: 'fail', blocking: false })])
    expect(await at.post(call('/spend', 'c', '1'))).toMatchObject({ status: 202 })
    // 290 are spent: the limit that refuses still does, with the granted call counted in it.
    expect(await at.post(call('/spend', 'd', '211'))).toMatchObject({
      status: 429,
      problem: { code: 'budget_exceeded' },
    })
    expect(at.reached).toHaveLength(2)
    await at.restart()
    expect(await at.post(call('/spend', 'd', '211'))).toMatchObject({ status: 429 })
  })

  it('a limit that refuses is not lifted by a grant', async () => {
    await start()
    await at.post(call('/spend', 'a', '90'))
    const over = call('/spend', 'b', '400')
    const { problem } = await at.post(over)
    await at.post({ ...call('/spend', 'c', '10') })
    await at.say(problem?.approval_id)
    await at.post(call('/spend', 'x', '0.5'))
    const other = await at.post(call('/spend', 'y', '5'))
    await at.say(other.problem?.approval_id)
    expect(await at.post(call('/spend', 'y', '5'))).toMatchObject({ status: 200 })
    expect(await at.post(over)).toMatchObject({ status: 429 })
    expect(at.reached).toHaveLength(3)
  })

  it('dedupe: a second call is asked about instead of 409', async () => {
    await start()
    expect(await at.post(call('/once', 'a'))).toMatchObject({ status: 200 })
    const again = await at.post(call('/once', 'a'))
    expect(again).toMatchObject({ status: 202 })
    await at.say(again.problem?.approval_id)
    expect(await at.post(call('/once', 'a'))).toMatchObject({ status: 200 })
    expect(await at.post(call('/once', 'a'))).toMatchObject({ status: 202 })
    expect(at.reached).toHaveLength(2)
  })

  it('a standing grant covers it, is spent only over the limit, and what ran counts', async () => {
    await start()
    await at.rig.gate.issueStanding({
      agent: 'support-bot',
      tool: 'pay',
      bounds: { small: { amount: { lte: '50' } } },
      expiresAt: new Date(at.time.clock.now() + 60_000).toISOString(),
      uses: 1,
      by: 'olga',
    })
    for (const to of ['a', 'b', 'c', 'd']) {
      expect(await at.post(call('/pay', to))).toMatchObject({ status: 200 })
    }
    expect((await at.rig.capsules()).at(-1)?.capsule.disposition).toMatchObject({
      approver: 'policy',
      human_disposed: false,
      authority: expect.any(String),
    })
    expect(await at.post(call('/pay', 'e'))).toMatchObject({ status: 202 })
  })

  it('a refusal sticks here too, until the window has room again', async () => {
    await start()
    for (const to of ['a', 'b', 'c']) await at.post(call('/pay', to))
    const { problem } = await at.post(call('/pay', 'd'))
    await at.say(problem?.approval_id, { kind: 'deny', reason: 'enough' })
    expect(await at.post(call('/pay', 'd'))).toMatchObject({
      status: 403,
      problem: { code: 'approval_refused' },
    })
    at.time.advance(3601)
    expect(await at.post(call('/pay', 'd'))).toMatchObject({ status: 200 })
  })

  it('an open request ends when the same call runs because there is room again', async () => {
    await start()
    for (const to of ['a', 'b', 'c']) await at.post(call('/pay', to))
    at.time.advance(1800)
    await at.post(call('/pay', 'd'))
    at.time.advance(1801)
    expect(await at.post(call('/pay', 'd'))).toMatchObject({ status: 200 })
    expect(await openItems(at.rig.gate.data.state)).toEqual([])
  })

  it('where nobody can be asked it is an open decision, not a pass', async () => {
    await start({ approvals: false })
    for (const to of ['a', 'b', 'c']) await at.post(call('/pay', to))
    expect(await at.post(call('/pay', 'd'))).toMatchObject({
      status: 403,
      problem: { code: 'decision_needed' },
    })
    expect(at.reached).toHaveLength(3)
  })
})
