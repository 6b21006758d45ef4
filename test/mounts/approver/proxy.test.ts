import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { OTHER_TOKEN, type Stand, startStand, TOKEN } from '../proxy/harness.js'

const MANIFEST = `id: com.acme.pay
tools:
  pay:
    match: POST /pay
    args: {amount: decimal}
    connection: pooled
  wire:
    match: POST /wire
    args: {amount: decimal}
    connection: pooled
    hitl: {on_approval: dispatch}
  report:
    match: POST /report
    args: {amount: decimal}
    connection: pooled
    hold_response: true
    hitl: {on_approval: dispatch}
`
const POLICY = `@id("all") permit (principal, action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("ask") @hem("required") forbid (principal, action in [Action::"pay", Action::"wire", Action::"report"], resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
type Status = {
  readonly action_id: string
  readonly state: string
  readonly verdict: string | null
  readonly capsule_id: string
  readonly result_available: boolean
  readonly concluded_by: string | null
}

let tool: Server
let stand: Stand
const received: string[] = []
let amount = 200
/** Octets before the tool's answer. */
let padded = 0

beforeAll(async () => {
  tool = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push(body)
      response.setHeader('content-type', 'application/json')
      const padding = ' '.repeat(padded)
      response.end(`${padding}{"paid":true,"body":${JSON.stringify(body)}}`)
    })
  })
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve))
  const upstream = `http://127.0.0.1:${(tool.address() as AddressInfo).port}`
  stand = await startStand({ upstream, manifest: MANIFEST, policy: POLICY })
})
afterAll(async () => {
  await stand.close()
  tool.closeAllConnections()
  tool.close()
})

const ask = (
  method: string,
  path: string,
  more: { token?: string; body?: string; headers?: Record<string, string> } = {},
) =>
  fetch(`http://127.0.0.1:${stand.port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${more.token ?? TOKEN}`,
      ...(more.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more.headers,
    },
    ...(more.body === undefined ? {} : { body: more.body }),
  })
const body = () => JSON.stringify({ amount: `${++amount}.00` })
const status = async (id: string): Promise<Status> =>
  (await (await ask('GET', `/.gate/v1/actions/${id}`)).json()) as Status

async function pending(path = '/pay', headers: Record<string, string> = {}) {
  const sent = body()
  const response = await ask('POST', path, { body: sent, headers })
  const { approval_id: id } = (await response.json()) as { approval_id: string }
  return { id, sent, response }
}
async function decide(id: string, outcome: Outcome) {
  const approval = await stand.gate.data.state.approval(id)
  return stand.gate.resolve({
    approvalId: id,
    documentDigest: approval?.documentDigest ?? '',
    decider: { kind: 'person', name: 'ada', roles: ['approver'], assurance: 'L1', via: 'test' },
    outcome,
  })
}
/** Resolves when a capsule of this decision is durable that is not the one that opened it. */
const ended = (id: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = stand.gate.data.subscribe((line) => {
      if (line.type !== 'CAPSULE') return
      const capsule = line.capsule as Record<string, unknown>
      if (capsule['dev.capsulegate.decision_id'] !== id || capsule.chain === undefined) return
      stop()
      resolve()
    })
  })

describe('a call that waits for a human', () => {
  it('is told where to ask and when', async () => {
    const { id, response } = await pending()
    expect(response.status).toBe(202)
    expect(response.headers.get('location')).toBe(`/.gate/v1/actions/${id}`)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(response.headers.get('preference-applied')).toBeNull()
    expect(await status(id)).toMatchObject({
      action_id: id,
      state: 'waiting',
      verdict: 'hitl_dispatched',
      capsule_id: response.headers.get('gate-capsule'),
      result_available: false,
      concluded_by: null,
    })
  })

  it.each([
    ['respond-async', 'respond-async'],
    ['wait=0', 'wait'],
    ['respond-async, wait=0', 'respond-async, wait'],
    ['return=minimal; foo="wait=3"', null],
  ])('with Prefer: %s hears %s', async (prefer, applied) => {
    const { response } = await pending('/pay', { prefer })
    expect(response.headers.get('preference-applied')).toBe(applied)
  })

  it('hears how it stands at each step: waiting, postponed, approved, sent', async () => {
    const { id, sent } = await pending()
    await decide(id, { kind: 'defer', ttlSeconds: 600, onExpiry: 'expired' })
    expect(await status(id)).toMatchObject({ state: 'waiting', verdict: 'deferred' })
    await decide(id, { kind: 'approve' })
    expect(await status(id)).toMatchObject({ state: 'approved', verdict: 'deferred' })
    const ran = await ask('POST', '/pay', { body: sent, headers: { 'gate-approval': id } })
    expect(ran.status).toBe(200)
    expect(await status(id)).toMatchObject({
      state: 'concluded',
      verdict: 'executed',
      capsule_id: ran.headers.get('gate-capsule'),
      concluded_by: ran.headers.get('gate-action'),
    })
  })

  it("is nobody else's: status, result and withdrawal are the same 404 as an unknown id's", async () => {
    const { id } = await pending()
    const unknown = id.replace(/.$/, (c) => (c === '0' ? '1' : '0'))
    const asked = [
      ['GET', ''],
      ['GET', '/result'],
      ['DELETE', ''],
    ] as const
    for (const [method, suffix] of asked) {
      const other = await ask(method, `/.gate/v1/actions/${id}${suffix}`, { token: OTHER_TOKEN })
      const none = await ask(method, `/.gate/v1/actions/${unknown}${suffix}`)
      expect([other.status, none.status]).toEqual([404, 404])
      expect(await other.text()).toBe(await none.text())
    }
    expect((await ask('DELETE', `/.gate/v1/actions/${id}`, { token: 'garbage' })).status).toBe(401)
    expect((await status(id)).state).toBe('waiting')
  })

  it('is withdrawn once, recorded as resolved by policy, and is then refused by name', async () => {
    const { id, sent } = await pending()
    const done = await ask('DELETE', `/.gate/v1/actions/${id}`)
    expect([done.status, await done.json()]).toEqual([
      200,
      expect.objectContaining({ state: 'concluded', verdict: 'resolved' }),
    ])
    expect((await ask('DELETE', `/.gate/v1/actions/${id}`)).status).toBe(409)
    expect((await stand.capsules()).at(-1)?.disposition).toMatchObject({
      verdict_class: 'resolved',
      approver: 'policy',
      human_disposed: false,
    })
    const named = await ask('POST', '/pay', { body: sent, headers: { 'gate-approval': id } })
    expect(named.status).toBe(409)
  })

  it('is not withdrawn while halted', async () => {
    const { id } = await pending()
    await stand.gate.halt({ kind: 'all' }, 'test')
    const refused = await ask('DELETE', `/.gate/v1/actions/${id}`)
    await stand.gate.resume({ kind: 'all' }, 'test')
    expect([refused.status, (await status(id)).state]).toEqual([409, 'waiting'])
  })

  it('with on_approval: dispatch is sent by the gate, once, and its answer collected', async () => {
    const { id, sent } = await pending('/wire')
    const before = received.length
    expect((await ask('GET', `/.gate/v1/actions/${id}/result`)).status).toBe(404)
    const over = ended(id)
    await decide(id, { kind: 'approve' })
    await over
    expect(received.slice(before)).toEqual([sent])
    // Evidence is synced beside the journal line: once a later call is answered, it is readable too.
    expect((await ask('POST', '/pay', { body: '{"amount":"1.00"}' })).status).toBe(200)
    expect(await status(id)).toMatchObject({
      state: 'concluded',
      verdict: 'executed',
      result_available: true,
    })
    const { concluded_by } = await status(id)
    for (const action of [id, concluded_by]) {
      const result = await ask('GET', `/.gate/v1/actions/${action}/result`)
      expect([result.status, result.headers.get('gate-replayed')]).toEqual([200, 'true'])
      expect(await result.json()).toEqual({ paid: true, body: sent })
    }
    // That one and the later call: collecting sent nothing.
    expect(received.length).toBe(before + 2)
    const human = (await stand.capsules()).at(-2)?.disposition
    expect(human).toMatchObject({
      verdict_class: 'executed',
      approver: 'human',
      human_disposed: true,
    })
  })

  it.each([
    ['/wire', false],
    ['/report', true],
  ])('%s answers more than is held by default: kept where it must be (%j)', async (path, kept) => {
    padded = 2 * 1024 * 1024
    const { id, sent } = await pending(path)
    const over = ended(id)
    await decide(id, { kind: 'approve' })
    await over
    padded = 0
    // Evidence is synced beside the journal line: once a later call is answered, it is readable too.
    expect((await ask('POST', '/pay', { body: '{"amount":"1.00"}' })).status).toBe(200)
    expect(await status(id)).toMatchObject({ verdict: 'executed', result_available: kept })
    const result = await ask('GET', `/.gate/v1/actions/${id}/result`)
    expect(result.status).toBe(kept ? 200 : 404)
    if (kept) expect(await result.json()).toEqual({ paid: true, body: sent })
  })

  it('never answers anything else under its own path', async () => {
    const { id } = await pending()
    for (const [method, path] of [
      ['POST', `/.gate/v1/actions/${id}`],
      ['DELETE', `/.gate/v1/actions/${id}/result`],
      ['PUT', `/.gate/v1/actions/${id}/result`],
      ['GET', `/.gate/v1/actions/${id}/results`],
      ['GET', `/.gate/v1/actions/${id}/`],
    ] as const) {
      expect((await ask(method, path)).status).toBe(404)
    }
  })
})
