import { createServer, type LookupFunction } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../src/ports/upstream.js'
import { ALLOWED, collector, RULE, request } from '../adapters/http-client/harness.js'
import { decide, fakeTime, person, tool } from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import { answering, peerOf } from '../support/raw-upstream.js'
import { type Rig, refund, rig } from '../support/rig.js'

/** The ground moves under a running gate: names resolve elsewhere, and the wall clock is set. */
describe('an upstream whose name resolves elsewhere between two calls', () => {
  let close: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const each of close.reverse()) await each()
    close = []
  })
  const OK = answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')

  /** Two hosts behind one port, told apart by their addresses on the loopback network. */
  async function host(address: string, port: number) {
    const requests: { head: string; body: Buffer }[] = []
    const sockets = new Set<{ destroy(): void }>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      void Promise.resolve(OK(peerOf(socket, 0, requests))).catch(() => socket.destroy())
    })
    await new Promise<void>((resolve) => server.listen(port, address, resolve))
    const hangUp = (): void => {
      for (const socket of sockets) socket.destroy()
    }
    close.push(async () => {
      hangUp()
      await new Promise((resolve) => server.close(resolve))
    })
    return { requests, hangUp, port: (server.address() as { port: number }).port }
  }
  async function stand() {
    const first = await host('127.0.0.1', 0)
    const second = await host('127.0.0.2', first.port)
    let address = '127.0.0.1'
    let asked = 0
    const lookup: LookupFunction = (_name, options, callback) => {
      asked += 1
      if (options.all === true) callback(null, [{ address, family: 4 }])
      else callback(null, address, 4)
    }
    const origin = `http://tool.test:${first.port}`
    const upstream = createUpstream({ name: 'default', origin, lookup })
    close.push(() => upstream.close())
    const move = (): void => {
      address = '127.0.0.2'
    }
    return { first, second, upstream, move, asked: () => asked }
  }
  const send = (upstream: Upstream, connection: 'fresh' | 'pooled') =>
    upstream.send(request(), { ...RULE, connection }, collector(), ALLOWED)

  it('fresh: each call asks anew and goes where the name points now', async () => {
    const { first, second, upstream, move, asked } = await stand()
    expect((await send(upstream, 'fresh')).kind).toBe('complete')
    move()
    expect((await send(upstream, 'fresh')).kind).toBe('complete')
    expect([first.requests.length, second.requests.length, asked()]).toEqual([1, 1, 2])
  })

  it('pooled: a connection stays with the host it was opened to, and a new one goes to the new host', async () => {
    const { first, second, upstream, move, asked } = await stand()
    await send(upstream, 'pooled')
    move()
    await send(upstream, 'pooled')
    expect([first.requests.length, second.requests.length, asked()]).toEqual([2, 0, 1])
    first.hangUp()
    while (upstream.stats().idle > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    expect((await send(upstream, 'pooled')).kind).toBe('complete')
    // No call reached both.
    expect([first.requests.length, second.requests.length, asked()]).toEqual([2, 1, 2])
  })
})

describe('a wall clock that is set by days', () => {
  const DAY = 86_400
  const BUDGET = `${PAYMENTS.trimEnd()}
  limited:
    match: POST /v1/limited
    args: {order: string}
    constraints:
      per_hour: {count: {max: 1, window: 1h}}
`
  const POLICY = `@id("all") permit (principal == Agent::"support-bot", action in [Action::"create_refund", Action::"limited"], resource);
@id("large") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };`
  let at: Rig
  const time = fakeTime()
  afterEach(() => at.close())
  async function start() {
    at = await rig({ manifest: BUDGET, policies: POLICY, clock: time.clock, timer: time.timer })
    const how = tool()
    const run = (call = refund('5')) => at.gate.govern(call, how.dispatch)
    return { how, run }
  }
  const limited = () => ({
    ...refund('5'),
    target: '/v1/limited',
    body: { kind: 'read' as const, bytes: Buffer.from('{"order":"a"}') },
  })
  async function timesNeverGoBack(): Promise<void> {
    const times = (await at.lines()).map((line) => String(line.at))
    expect(times).toEqual([...times].sort())
    const own = (await at.capsules()).map(({ capsule }) => String(capsule.timestamp))
    expect(own).toEqual([...own].sort())
  }

  it.each([
    ['back', [-3 * DAY]],
    ['back and forward again', [-3 * DAY, 3 * DAY]],
    ['back twice', [-DAY, -30 * DAY]],
  ])('%s: an idempotency key still replays, and a spent budget stays spent', async (_, jumps) => {
    const { how, run } = await start()
    const keyed = refund('5', { idempotencyKey: 'k' })
    expect(await run(keyed)).toMatchObject({ code: 'executed' })
    expect(await run(limited())).toMatchObject({ code: 'executed' })
    for (const seconds of jumps) {
      time.jump(seconds)
      expect(await run(keyed)).toMatchObject({ kind: 'replayed' })
      expect(await run(limited())).toMatchObject({ code: 'budget_exceeded' })
    }
    expect(how.sent).toHaveLength(2)
    await timesNeverGoBack()
  })

  it.each([
    // Past its end on the wall clock a grant is not used, and lines written meanwhile keep that time.
    ['forward', [10 * DAY], 0],
    ['forward and back', [10 * DAY, -10 * DAY], 1],
    ['back', [-10 * DAY], 1],
  ])('%s: a waiting approval is not ended early, and never runs twice', async (_, jumps, runs) => {
    const { how, run } = await start()
    const asked = await run(refund('150'))
    expect(asked).toMatchObject({ code: 'approval_pending' })
    for (const seconds of jumps) {
      time.jump(seconds)
      await at.gate.expireDue()
    }
    const [open] = await at.gate.data.state.approvals()
    if (open === undefined) throw new Error('it ended')
    const said = await decide(at.gate, open.approvalId, person('ada'), { kind: 'approve' })
    expect(said).toMatchObject({ kind: 'recorded' })
    await Promise.all([run(refund('150')), run(refund('150'))])
    expect(how.sent).toHaveLength(runs)
    for (const seconds of jumps) time.jump(-seconds)
    await Promise.all([run(refund('150')), run(refund('150'))])
    expect(how.sent).toHaveLength(runs)
    await timesNeverGoBack()
  })

  it('after a restart under a clock that was set back, times go on from the last line', async () => {
    const { run } = await start()
    await run()
    await at.gate.close()
    time.jump(-30 * DAY)
    at = await rig(
      { manifest: BUDGET, policies: POLICY, clock: time.clock, timer: time.timer },
      at.dir,
    )
    await at.gate.govern(refund('6'), tool().dispatch)
    await timesNeverGoBack()
  })
})
