import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { digestRequest } from '../../../src/core/call/digest.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import { gatedFetch } from '../../../src/mounts/function/fetch.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { createProxy, type ProxyServer } from '../../../src/mounts/proxy/server.js'
import { decide, person } from '../../support/approvals.js'
import { httpCall, manifestOf, PAYMENTS } from '../../support/manifests.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, rig, TOKEN } from '../../support/rig.js'

/** Mounts do not route: `match` finds the upstream with the rule, and the order says where to send. */
const LEFT = `id: com.acme.left
upstream: left
tools:
  left_read: {match: "GET /left/{id}"}
  left_note: {match: POST /notes, args: {text: string}}
`
const RIGHT = `id: com.acme.right
upstream: right
tools:
  right_read: {match: "GET /right/{id}"}
  right_pay:
    match: POST /pay
    args: {amount: decimal}
    hitl: {on_approval: dispatch}
`
const POLICY = `@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("ask") @hem("required") forbid (principal, action == Action::"right_pay", resource)
unless { context.approval.granted };`
const said = (text: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`

let at: Rig
let left: RawUpstream
let right: RawUpstream
let proxy: ProxyServer
let origin: string
let upstreams: Map<
  string,
  { upstream: ReturnType<typeof createUpstream>; origin: string; deadlines: object }
>

beforeAll(async () => {
  left = await rawUpstream(answering(said('left')))
  right = await rawUpstream(answering(said('right')))
  const manifests = [LEFT, RIGHT].map(manifestOf).map((manifest) => ({
    manifest,
    digest: manifestDigest(manifest, nodeCrypto),
  }))
  at = await rig({ manifest: PAYMENTS, policies: POLICY, manifests, approvals: true })
  upstreams = new Map(
    [['left', left.origin] as const, ['right', right.origin] as const].map(([name, to]) => [
      name,
      { upstream: createUpstream({ name, origin: to }), origin: to, deadlines: {} },
    ]),
  )
  proxy = createProxy({
    gate: at.gate,
    upstreams,
    passThrough: [],
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => undefined,
  })
  origin = `http://127.0.0.1:${(await proxy.listen(0, '127.0.0.1')).port}`
})
afterAll(async () => {
  await proxy.close(0)
  for (const { upstream } of upstreams.values()) await upstream.close()
  await at.close()
  await left.close()
  await right.close()
})
beforeEach(() => {
  left.requests.length = 0
  right.requests.length = 0
})

const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
const post = (path: string, body: object): Promise<Response> =>
  fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
const reached = (): [number, number] => [left.requests.length, right.requests.length]

describe('through the proxy', () => {
  it.each([
    ['/left/1', 'left', [1, 0]],
    ['/right/1', 'right', [0, 1]],
  ])('%s goes to %s and nowhere else', async (path, text, expected) => {
    const answer = await fetch(`${origin}${path}`, { headers })
    expect([answer.status, await answer.text()]).toEqual([200, text])
    expect(reached()).toEqual(expected)
  })

  it.each([
    ['/neither/1', 'tool_unknown'],
    ['/right/1/2', 'tool_unknown'],
    ['/LEFT/1', 'target_ambiguous'],
  ])('%s is refused as %s and reaches neither', async (path, code) => {
    const answer = await fetch(`${origin}${path}`, { headers })
    expect(await answer.json()).toMatchObject({ code })
    expect(reached()).toEqual([0, 0])
  })

  it('the digest binds the upstream that the rule goes to', async () => {
    const answer = await post('/notes', { text: 'x' })
    expect(answer.status).toBe(200)
    const rule = at.gate.read.judges().router.byTool.get('left_note')?.[0]?.rule
    const last = (await at.capsules()).at(-1)?.capsule
    if (rule === undefined) throw new Error('no rule')
    const [request] = left.requests
    const call = httpCall('POST', '/notes', request?.body ?? '', {
      upstream: 'left',
      headers: [
        ['content-type', 'application/json'],
        ['accept', '*/*'],
        ['accept-language', '*'],
      ],
    })
    const digest = (upstream: string): string =>
      digestRequest({ ...call, upstream }, rule, at.gate.parts).requestDigest
    expect(last?.effect).toMatchObject({ request_digest: digest('left') })
    expect(digest('left')).not.toBe(digest('right'))
  })

  it('what was approved is sent to the upstream it was frozen for', async () => {
    const asked = await post('/pay', { amount: '5' })
    expect(asked.status).toBe(202)
    const { approval_id: id } = Object(await asked.json())
    await decide(at.gate, String(id), person('alice'), { kind: 'approve' })
    await at.gate.stop()
    expect(reached()).toEqual([0, 1])
    expect(right.requests[0]?.body.toString()).toBe('{"amount":"5"}')
  })
})

describe('gatedFetch names the upstream by the origin it was given', () => {
  const fetched = (url: string): Promise<Response> =>
    gatedFetch(at.gate, { upstreams, holdBytes: 1024 })(url, { agent: 'support-bot' })

  it('and a rule of that upstream runs there', async () => {
    expect(await (await fetched(`${right.origin}/right/1`)).text()).toBe('right')
    expect(reached()).toEqual([0, 1])
  })

  it.each([
    ['another upstream', () => `${right.origin}/left/1`],
    ['an origin that is none', () => 'http://127.0.0.1:1/left/1'],
  ])('with %s the call is not sent to where its path has a rule', async (_, url) => {
    const answer = await fetched(url())
    expect(await answer.json()).toMatchObject({ code: 'tool_unknown' })
    expect(reached()).toEqual([0, 0])
  })
})
