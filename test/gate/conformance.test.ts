import { afterEach, describe, expect, it } from '@jest/globals'
import type { Capsule, ConstraintRecord } from '../../src/core/capsule/model.js'
import type { Decider, Outcome } from '../../src/gate/approval/decide/model.js'
import { govern } from '../../src/gate/govern/govern.js'
import { decide, machine, person, tool } from '../support/approvals.js'
import { expectConformance } from '../support/conformance.js'
import { OTHER_TOKEN, type Rig, type RigOptions, refund, rig } from '../support/rig.js'

/** Constraints that ask, block and only warn, windows and the clock beside policies that ask. */
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    hitl: {ttl_seconds: 600, ladder: [{roles: [boss], after_seconds: 600}]}
    constraints:
      asks: {amount: {lte: "50"}, on_fail: hitl}
      warns: {amount: {lte: "10"}, on_fail: warn}
      blocks: {amount: {lte: "500"}}
      errs: {order: {matches: "[a-z0-9-]+"}, on_error: hitl}
      any_day: {time: {from: "00:00", until: "23:59"}, on_fail: warn}
      hourly: {count: {max: 50, per: [$agent], window: 1h}}
      daily: {sum: {of: amount, max: "9000", per: [currency], window: 24h}, on_fail: hitl}
`
const ASKS = 'com.acme.payments.asks'
const CEDAR = 'dev.capsulegate.cedar'

let at: Rig
const start = async (more: Partial<RigOptions> = {}): Promise<void> => {
  at = await rig({ manifest: MANIFEST, ...more })
}
afterEach(async () => {
  await expectConformance(at)
  await at.close()
})
const newest = async (): Promise<Capsule> => {
  const line = (await at.capsules()).at(-1)
  if (line === undefined) throw new Error('no capsule')
  return line.capsule
}
const gating = async (): Promise<string[]> =>
  ((await newest()).constraints ?? []).filter(({ blocking }) => blocking).map(({ id }) => id)
const recordOf = async (id: string): Promise<ConstraintRecord | undefined> =>
  (await newest()).constraints?.find((record) => record.id === id)
const ask = async (amount: string): Promise<string> => {
  const answer = await at.gate.govern(refund(amount), tool().dispatch)
  if (answer.kind !== 'pending') throw new Error(answer.kind)
  return answer.approvalId
}
const say = (id: string, outcome: Outcome, who: Decider = person('alice')) =>
  decide(at.gate, id, who, outcome)
const verdict = async (): Promise<string> => (await newest()).disposition.verdict_class

describe('blocking is the check that stopped the call', () => {
  it('a constraint that asks for a human gates the call it sends to one, and no longer once it runs', async () => {
    await start()
    const id = await ask('60')
    expect(await verdict()).toBe('hitl_dispatched')
    expect(await gating()).toEqual([ASKS])
    expect(await recordOf('com.acme.payments.warns')).toMatchObject({
      result: 'fail',
      blocking: false,
    })
    await say(id, { kind: 'approve' })
    await at.gate.govern(refund('60'), tool().dispatch)
    expect(await verdict()).toBe('executed')
    expect(await recordOf(ASKS)).toMatchObject({ result: 'fail', blocking: false })
    expect(await gating()).toEqual([])
  })

  it('so does a policy that asks, and each of two checks that ask', async () => {
    await start()
    await ask('150')
    expect((await gating()).sort()).toEqual([ASKS, CEDAR])
  })

  it('so does a check that asks where nobody may be asked, or too many wait', async () => {
    await start()
    const { parts } = at.gate
    await govern(refund('60'), tool().dispatch, { ...parts, approvals: false })
    expect([await verdict(), await gating()]).toEqual(['needs_decision', [ASKS]])
    await govern(refund('60'), tool().dispatch, { ...parts, openPerAgent: 0 })
    expect([await verdict(), await gating()]).toEqual(['denied', [ASKS]])
  })

  it('what another check stopped first, a check that would ask did not stop', async () => {
    await start()
    await at.gate.govern(refund('600'), tool().dispatch)
    expect([await verdict(), await gating()]).toEqual(['blocked', ['com.acme.payments.blocks']])
    const caller = { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }
    await at.gate.govern(refund('60', { caller }), tool().dispatch)
    expect([await verdict(), await gating()]).toEqual(['denied', [CEDAR]])
  })

  it('in observe mode nothing gates', async () => {
    await start({ mode: 'observe' })
    await at.gate.govern(refund('600'), tool().dispatch)
    expect(await verdict()).toBe('executed')
    expect(await gating()).toEqual([])
    expect(await recordOf(ASKS)).toMatchObject({ result: 'fail', blocking: false })
    expect(await recordOf(CEDAR)).toMatchObject({ result: 'fail', blocking: false })
  })
})

describe('evidence and its schemas', () => {
  it('every kind of record is admitted by the schema that is published for it', async () => {
    await start()
    await at.gate.govern(refund('5'), tool().dispatch)
    const approved = await ask('60')
    await say(approved, { kind: 'approve', bounds: { small: { amount: { lte: '70' } } } })
    await at.gate.govern(refund('60'), tool().dispatch)
    const refused = await ask('61')
    await say(refused, { kind: 'deny', reason: 'not this customer' })
    await at.gate.reopen(refused, { decider: person('bob'), reason: 'it was the right one' })
    await say(await ask('62'), { kind: 'defer', ttlSeconds: 600, onExpiry: 'escalated' })
    await say(await ask('63'), { kind: 'approve' }, machine('scorer'))
    await at.gate.govern(refund('63'), tool().dispatch)
    await at.gate.issueStanding({
      agent: 'support-bot',
      tool: 'create_refund',
      bounds: {
        few: { amount: { lte: '99' }, currency: { in: ['EUR'] }, order: { equals: 'o-1' } },
      },
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      uses: 2,
      by: 'alice',
    })
    await at.gate.govern(refund('64'), tool().dispatch)
    const admitted = await expectConformance(at)
    expect([...admitted.keys()].sort()).toEqual(
      [
        ...['any_day', 'asks', 'blocks', 'daily', 'errs', 'hourly', 'warns'].map(
          (name) => `com.acme.payments.${name}`,
        ),
        'approval_document',
        'dev.capsulegate.approval',
        CEDAR,
        'reopening',
        'standing_order',
        'vote',
      ].sort(),
    )
    // Two that deciders let run, one under a standing grant, a refusal and a deferral.
    expect(admitted.get('dev.capsulegate.approval')).toBe(5)
  })

  it('a name that observe mode let pass, and a policy that could not be judged', async () => {
    await start({ mode: 'observe' })
    await at.gate.govern(refund('5', { target: '/v1/refunds?dry_run=1' }), tool().dispatch)
    await at.gate.govern(refund('5.00001'), tool().dispatch)
    const admitted = await expectConformance(at)
    expect(admitted.get('dev.capsulegate.not_read')).toBe(1)
    expect(
      await at.gate.data.evidence.byDigest(String((await recordOf(CEDAR))?.evidence_digest)),
    ).toMatchObject({ value: { value: { decision: 'error', error: 'args_invalid' } } })
  })
})

describe('reasons hold codes', () => {
  const reason = async (): Promise<unknown> => {
    const found = await at.gate.data.evidence.byDigest(
      String((await newest()).disposition.reason_digest),
    )
    return found.state === 'present' ? found.value.value : found.state
  }

  it('a malformed request, a stranger, and an item that a person closed', async () => {
    await start()
    const body = { kind: 'malformed', fault: 'header_twice:host' } as const
    const told = await at.gate.govern(refund('5', { body }), tool().dispatch)
    expect(told).toMatchObject({ problem: { fault: 'the header host occurs twice' } })
    expect(await reason()).toMatchObject({ code: 'request_malformed', observed: body.fault })
    const caller = { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' }
    await at.gate.govern(refund('5', { caller }), tool().dispatch)
    expect(await reason()).toMatchObject({ code: 'unauthenticated', observed: 'no_credential' })
    await at.gate.govern(refund('600'), tool().dispatch)
    const { capsule_id } = await newest()
    const words = 'seen it, nothing more to do here'
    await at.gate.closeBlocked(capsule_id, { person: person('alice'), reason: words })
    expect(await verdict()).toBe('resolved')
    expect(await reason()).toMatchObject({ code: 'item_closed' })
    expect(JSON.stringify(await reason())).not.toContain(words)
  })

  it('a refusal by the clock has the same digest at another time', async () => {
    let now = Date.parse('2026-03-02T20:00:00.000Z')
    const clock = { now: () => now, monotonic: () => performance.now() }
    const manifest = MANIFEST.replace(
      'any_day: {time: {from: "00:00", until: "23:59"}, on_fail: warn}',
      'office: {time: {from: "08:00", until: "18:00"}}',
    )
    await start({ manifest, clock })
    const digests = new Set<unknown>()
    for (let day = 0; day < 3; day++) {
      now += 86_400_000
      await at.gate.govern(refund('5'), tool().dispatch)
      expect(await gating()).toEqual(['com.acme.payments.office'])
      digests.add((await newest()).disposition.reason_digest)
    }
    expect(digests.size).toBe(1)
  })
})
