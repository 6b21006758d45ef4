import { afterEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../src/core/call/call.js'
import { olderDigests } from '../../src/core/call/digest.js'
import { boundHeaders } from '../../src/core/manifest/route/headers.js'
import { begin, identify, recognize } from '../../src/gate/govern/begin.js'
import { match } from '../../src/gate/govern/match.js'
import { answered, decide, person, tool } from '../support/approvals.js'
import { askedBefore, sentBefore } from '../support/before-upgrade.js'
import { manifestOf } from '../support/manifests.js'
import { openItems } from '../support/open-items.js'
import { type Rig, refund, rig } from '../support/rig.js'
import { type Proxied, proxied } from './proxied.js'

const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    forward_headers: [x-dry-run, tracestate, baggage, b3, x-b3-traceid]
`
const BODY = '{"order":"o-1","currency":"EUR","amount":"150.00"}'
const REFUND = { target: '/v1/refunds', body: BODY }
const DRY = { 'x-dry-run': 'true' }
const WET = { 'x-dry-run': 'false' }

describe('a header that is forwarded is bound and shown', () => {
  let at: Proxied
  afterEach(() => at.close())

  it('an approval of x-dry-run: true sends nothing with x-dry-run: false', async () => {
    at = await proxied({ manifest: MANIFEST })
    const { problem } = await at.post({ ...REFUND, headers: DRY })
    await at.say(problem?.approval_id)
    const other = await at.post({ ...REFUND, headers: WET })
    expect(other).toMatchObject({ status: 202, problem: { code: 'approval_pending' } })
    expect(other.problem?.approval_id).not.toBe(problem?.approval_id)
    expect(at.reached).toEqual([])
    expect(await at.post({ ...REFUND, headers: DRY })).toMatchObject({ status: 200 })
    expect(at.reached.map((headers) => headers['x-dry-run'])).toEqual(['true'])
  })

  it('naming the approval with another header value is 409, with the pointer', async () => {
    at = await proxied({ manifest: MANIFEST })
    const { problem } = await at.post({ ...REFUND, headers: DRY })
    await at.say(problem?.approval_id)
    const named = { ...WET, 'gate-approval': String(problem?.approval_id) }
    expect(await at.post({ ...REFUND, headers: named })).toMatchObject({
      status: 409,
      problem: { code: 'approval_mismatch', differs_at: '/request/headers/1/1' },
    })
    const more = { ...DRY, accept: '*/*', 'gate-approval': String(problem?.approval_id) }
    expect(await at.post({ ...REFUND, headers: more })).toMatchObject({ status: 409 })
    expect(at.reached).toEqual([])
  })

  it('the person is shown every header that will be sent', async () => {
    at = await proxied({ manifest: MANIFEST })
    const headers = { 'x-dry-run': 'true', accept: 'text/plain', 'x-unlisted': 'stays here' }
    const { problem } = await at.post({ ...REFUND, headers })
    expect((await at.shown(problem?.approval_id)).request).toMatchObject({
      headers: [
        ['accept', 'text/plain'],
        ['content-type', 'application/json'],
        ['x-dry-run', 'true'],
      ],
    })
  })

  it('trace headers, the key and the order of headers are no part of the request', async () => {
    at = await proxied({ manifest: MANIFEST })
    const first = { 'x-dry-run': 'true', accept: '*/*', traceparent: '00-a', b3: '1' }
    const { problem } = await at.post({ ...REFUND, headers: first })
    await at.say(problem?.approval_id)
    const again = {
      tracestate: 'x=1',
      baggage: 'y=2',
      'x-b3-traceid': '7',
      accept: '*/*',
      'x-dry-run': 'true',
      'idempotency-key': 'k-1',
    }
    expect(await at.post({ ...REFUND, headers: again })).toMatchObject({ status: 200 })
    expect(at.reached).toHaveLength(1)
  })

  it('a key used with one header value does not answer for another', async () => {
    at = await proxied({ manifest: MANIFEST })
    const small = { target: '/v1/refunds', body: BODY.replace('150.00', '5.00') }
    const key = { 'idempotency-key': 'k-1' }
    expect(await at.post({ ...small, headers: { ...key, ...DRY } })).toMatchObject({ status: 200 })
    expect(await at.post({ ...small, headers: { ...key, ...WET } })).toMatchObject({
      status: 422,
      problem: { code: 'idempotency_mismatch' },
    })
    expect(at.reached).toHaveLength(1)
  })
})

it('what a rule binds by name stays bound, whatever the name', () => {
  const [rule] = manifestOf(`id: com.acme.t
tools:
  t:
    match: POST /t
    args: {trace: {type: string, from: {in: header, name: traceparent}}}
    bind_headers: [x-bound]
`).rules
  if (rule === undefined) throw new Error('no rule')
  expect([...boundHeaders(rule)].sort()).toEqual([
    'accept',
    'accept-language',
    'content-encoding',
    'content-type',
    'traceparent',
    'x-bound',
  ])
})

describe('keys and items from before the upgrade', () => {
  let at: Rig
  afterEach(() => at.close())
  const headed = (value: string, amount = '150.00', more: Partial<HttpCall> = {}): HttpCall =>
    refund(amount, {
      headers: [
        ['content-type', 'application/json'],
        ['x-dry-run', value],
      ],
      ...more,
    })
  const approve = (id: string) => decide(at.gate, id, person('alice'), { kind: 'approve' })
  const legacyOf = async (call: HttpCall): Promise<string> => {
    const { parts } = at.gate
    const recognized = recognize(begin(call, await identify(call.caller, parts), parts))
    if ('exit' in recognized) throw new Error(recognized.code)
    const matched = match(recognized, parts)
    if ('exit' in matched) throw new Error(matched.code)
    return String(olderDigests(matched, parts).at(-1)?.requestDigest)
  }

  it('a completed key is replayed, and nothing is sent again', async () => {
    at = await rig({ manifest: MANIFEST })
    const { sent, dispatch } = tool()
    const call = headed('true', '5', { idempotencyKey: 'k' })
    const actionId = await sentBefore(call, dispatch, at.gate.parts)
    at = await at.restart()
    expect(await at.gate.govern(call, dispatch)).toMatchObject({ kind: 'replayed', actionId })
    const other = headed('true', '6', { idempotencyKey: 'k' })
    expect(await at.gate.govern(other, dispatch)).toMatchObject({ code: 'idempotency_mismatch' })
    expect(sent).toHaveLength(1)
  })

  it('a key in flight, or of unknown outcome, is 409 and never a second dispatch', async () => {
    at = await rig({ manifest: MANIFEST })
    const { sent, dispatch } = tool()
    const call = headed('true', '5', { idempotencyKey: 'k' })
    const actionId = await sentBefore(call, dispatch, at.gate.parts, false)
    const told = { code: 'idempotency_in_flight', status: 409, problem: { held_by: actionId } }
    expect(await at.gate.govern(call, dispatch)).toMatchObject(told)
    at = await at.restart()
    expect(await at.gate.govern(call, dispatch)).toMatchObject(told)
    expect(sent).toHaveLength(1)
  })

  it.each(['by itself', 'by name'])(
    'an open item is found by the same call (%s), and runs once under its own digest',
    async (how) => {
      at = await rig({ manifest: MANIFEST })
      const id = await askedBefore(headed('true'), at.gate.parts)
      at = await at.restart()
      const { sent, dispatch } = tool()
      const call = headed('true', '150.00', how === 'by name' ? { approvalId: id } : {})
      expect(await at.gate.govern(headed('true'), dispatch)).toMatchObject({
        code: 'approval_pending',
        actionId: id,
      })
      expect(await approve(id)).toMatchObject({ state: 'approved' })
      expect(await at.gate.govern(call, dispatch)).toMatchObject({ code: 'executed' })
      expect(sent).toHaveLength(1)
      const line = (await at.capsules()).at(-1)
      expect(line?.capsule.disposition).toMatchObject({ human_disposed: true })
      expect(line?.capsule.effect).toMatchObject({ request_digest: await legacyOf(call) })
      expect(await openItems(at.gate.data.state)).toEqual([])
      const next = await at.gate.govern(headed('true'), dispatch)
      expect(next).toMatchObject({ code: 'approval_pending' })
      expect(sent).toHaveLength(1)
    },
  )

  it('an open item is not spent on another header value, although its digest left it open', async () => {
    at = await rig({ manifest: MANIFEST })
    const id = await askedBefore(headed('true'), at.gate.parts)
    at = await at.restart()
    await approve(id)
    const { sent, dispatch } = tool()
    const other = await at.gate.govern(headed('false'), dispatch)
    expect(other).toMatchObject({ code: 'approval_pending' })
    expect(other).not.toMatchObject({ actionId: id })
    const named = headed('false', '150.00', { approvalId: id })
    expect(await at.gate.govern(named, dispatch)).toMatchObject({ code: 'approval_mismatch' })
    expect(sent).toEqual([])
  })

  it('an approved item of on_approval: dispatch runs once, after the restart', async () => {
    at = await rig({ manifest: `${MANIFEST}    hitl: {on_approval: dispatch}\n` })
    const id = await askedBefore(headed('true'), at.gate.parts)
    await approve(id)
    at = await at.restart()
    const headers: unknown[] = []
    const { sent, dispatch } = tool(() => answered())
    await at.gate.dispatchApproved((call) => {
      if (call.kind === 'http') headers.push(...call.headers)
      return dispatch
    })
    await at.gate.stop()
    expect(sent).toHaveLength(1)
    expect(headers).toContainEqual(['x-dry-run', 'true'])
    expect((await at.capsules()).at(-1)?.capsule.disposition).toMatchObject({
      verdict_class: 'executed',
      human_disposed: true,
    })
    at = await at.restart()
    await at.gate.dispatchApproved(() => dispatch)
    await at.gate.stop()
    expect(sent).toHaveLength(1)
  })
})
