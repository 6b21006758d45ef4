import { afterEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../src/core/call/call.js'
import type { Answer } from '../../src/gate/answer.js'
import { govern } from '../../src/gate/govern.js'
import type { Parts } from '../../src/gate/stage.js'
import type { Evidence, Journal, State } from '../../src/ports.js'
import { decide, person, tool } from '../support/approvals.js'
import { httpCall } from '../support/manifests.js'
import { type Rig, type RigOptions, rig, TOKEN } from '../support/rig.js'

/** Promises 1, 2 and 6 on real files, where one store fails, is late, or the process ends between two steps. */
const MANIFEST = `id: com.acme.payments
tools:
  refund:
    match: POST /v1/refunds
    args: {order: string, amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      two_an_hour: {count: {max: 2, window: 1h}}
`
const POLICIES = `
@id("support") permit (principal == Agent::"support-bot", action, resource);
@id("large") @hem("required") forbid (principal, action == Action::"refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
let at: Rig
async function start(more: Partial<RigOptions> = {}): Promise<void> {
  at = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
}
afterEach(() => at.close())

const refund = (amount: string, more: Partial<HttpCall> = {}, order = 'o-1'): HttpCall =>
  httpCall(
    'POST',
    '/v1/refunds',
    { order, amount },
    {
      caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
      ...more,
    },
  )
const keyed = (order = 'o-1'): HttpCall => refund('5.00', { idempotencyKey: 'k-1' }, order)
const run = (call: HttpCall, how = tool()): Promise<Answer> => at.gate.govern(call, how.dispatch)
const verdicts = async (): Promise<unknown[]> =>
  (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)

describe('a call that was being sent when the process ended', () => {
  /** Sent, and not heard of again. */
  async function orphan(call: HttpCall): Promise<void> {
    await new Promise<void>((sent) => {
      void at.gate.govern(call, () => {
        sent()
        return new Promise(() => undefined)
      })
    })
  }

  // The first start settles in memory, the second reads the settlement from the line.
  it.each([1, 2])('keeps its key and its place in the window after %i restarts', async (times) => {
    await start()
    await orphan(keyed())
    for (let n = 0; n < times; n++) at = await at.restart()
    const again = tool()
    expect(await run(keyed(), again)).toMatchObject({ code: 'idempotency_in_flight', status: 409 })
    expect(await run(keyed('o-2'), again)).toMatchObject({ code: 'idempotency_mismatch' })
    expect(again.sent).toEqual([])
    expect(await run(refund('6.00'))).toMatchObject({ code: 'executed' })
    expect(await run(refund('7.00'))).toMatchObject({ code: 'budget_exceeded' })
  })

  it.each([1, 2])('has spent its grant after %i restarts', async (times) => {
    await start()
    const asked = await run(refund('150.00'))
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    const { approvalId } = asked
    await decide(at.gate, approvalId, person('alice'), { kind: 'approve' })
    await orphan(refund('150.00', { approvalId }))
    for (let n = 0; n < times; n++) at = await at.restart()
    const again = tool()
    expect(await run(refund('150.00', { approvalId }), again)).toMatchObject({
      code: 'approval_closed',
      problem: { approval_state: 'errored' },
    })
    expect(await run(refund('150.00'), again)).toMatchObject({ code: 'approval_pending' })
    expect(again.sent).toEqual([])
  })
})

type Store = 'journal' | 'evidence'
const STORES: readonly Store[] = ['journal', 'evidence']

/** The gate's parts with one store that writes nothing from the moment `fails` says so. */
function without(store: Store, fails: () => boolean): Parts {
  const { parts } = at.gate
  const { journal, evidence } = parts
  const append: Journal['append'] = (entries, options) =>
    fails() ? Promise.reject(new Error('no space')) : journal.append(entries, options)
  const put: Evidence['put'] = (record, options) =>
    fails() ? Promise.reject(new Error('no space')) : evidence.put(record, options)
  return store === 'journal'
    ? { ...parts, journal: { ...journal, append } }
    : { ...parts, evidence: { ...evidence, put } }
}

describe.each(STORES)('when the %s alone cannot be written', (store) => {
  const UNAVAILABLE = { kind: 'unrecorded', code: 'record_unavailable', status: 503 }

  it('before dispatch, nothing is sent, and the key is free unless its intent is on record', async () => {
    await start()
    const how = tool()
    const broken = without(store, () => true)
    expect(await govern(keyed(), how.dispatch, broken)).toMatchObject(UNAVAILABLE)
    expect(how.sent).toEqual([])
    expect(await verdicts()).toEqual([])
    // A line that says "dispatched" holds what it names until a capsule says otherwise.
    const code = store === 'journal' ? 'executed' : 'idempotency_in_flight'
    expect(await run(keyed())).toMatchObject({ code })
  })

  it.each([
    ['a refusal', refund('600.00')],
    ['a question to a person', refund('150.00')],
  ])('%s is not told, and nothing waits', async (_, call) => {
    await start()
    const how = tool()
    const answer = await govern(
      call,
      how.dispatch,
      without(store, () => true),
    )
    expect(answer).toMatchObject(UNAVAILABLE)
    expect(JSON.stringify(answer)).not.toMatch(/constraint_failed|approval_pending/)
    expect(how.sent).toEqual([])
    expect(await at.gate.parts.state.openApprovals('support-bot')).toBe(0)
  })

  it('after dispatch, nothing of the answer is released, and key and window stay spent', async () => {
    await start()
    const how = tool()
    const broken = without(store, () => how.sent.length > 0)
    const settled: unknown[] = []
    const settle: State['settle'] = async (actionId, outcome) => {
      settled.push(outcome)
      return broken.state.settle(actionId, outcome)
    }
    const state = { ...broken.state, settle }
    const answer = await govern(keyed(), how.dispatch, { ...broken, state })
    expect(answer).toMatchObject({ kind: 'unrecorded', code: 'record_lost', status: 502 })
    expect(answer).not.toHaveProperty('dispatched')
    expect(how.sent).toHaveLength(1)
    expect(settled).toEqual([])
    const again = tool()
    expect(await run(keyed(), again)).toMatchObject({ code: 'idempotency_in_flight' })
    expect(again.sent).toEqual([])
    expect(await run(refund('6.00'))).toMatchObject({ code: 'executed' })
    expect(await run(refund('7.00'))).toMatchObject({ code: 'budget_exceeded' })
  })
})
