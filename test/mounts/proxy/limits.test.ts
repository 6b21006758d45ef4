import { afterEach, describe, expect, it } from '@jest/globals'
import { networkOf } from '../../../src/mounts/proxy/limiter.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import {
  AUTH,
  ask,
  get,
  OTHER_TOKEN,
  post,
  rawClient,
  type Stand,
  type StandOptions,
  startStand,
  TOKEN,
} from './harness.js'

let stand: Stand
let upstream: RawUpstream
async function start(options: Partial<StandOptions> = {}): Promise<Stand> {
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  stand = await startStand({ upstream: upstream.origin, ...options })
  return stand
}
afterEach(async () => {
  await stand.close()
  await upstream.close()
})
const body = (over: Partial<typeof DEFAULT_LIMITS.body>) => ({
  limits: { body: { ...DEFAULT_LIMITS.body, ...over } },
})

describe('bodies', () => {
  it('one octet over the cap is 413 with a capsule, by its announcement or by its octets; the cap itself passes', async () => {
    const { port } = await start(body({ maxBytes: 100 }))
    expect((await ask(port, post('/files/a', 'x'.repeat(100)))).status).toBe(200)
    const chunked = `POST /files/a HTTP/1.1\r\nhost: g\r\n${AUTH}transfer-encoding: chunked\r\n\r\n65\r\n${'x'.repeat(101)}\r\n0\r\n\r\n`
    for (const request of [post('/files/a', 'x'.repeat(101)), chunked]) {
      const { result, capsules } = await stand.after(() => ask(port, request))
      expect(result.status).toBe(413)
      expect(result.headers.get('connection')).toBe('close')
      expect(capsules).toHaveLength(1)
    }
    expect(upstream.requests).toHaveLength(1)
  })

  it('a client that goes on sending after 413 still reads the answer', async () => {
    const { port } = await start(body({ maxBytes: 100 }))
    const client = await rawClient(port)
    const size = 8 * 1024 * 1024
    client.send(`POST /files/a HTTP/1.1\r\nhost: g\r\n${AUTH}content-length: ${size}\r\n\r\n`)
    client.send(Buffer.alloc(size, 'x'))
    expect((await client.closed()).toString()).toMatch(/^HTTP\/1\.1 413/)
  })

  it('100 Continue is said only when the announced length fits', async () => {
    const { port } = await start(body({ maxBytes: 100 }))
    const expecting = (length: number): string =>
      `POST /files/a HTTP/1.1\r\nhost: g\r\nconnection: close\r\n${AUTH}expect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`
    const client = await rawClient(port)
    client.send(expecting(3))
    await client.until((bytes) => bytes.includes('HTTP/1.1 100 Continue\r\n\r\n'))
    client.send('abc')
    expect((await client.closed()).toString()).toContain('HTTP/1.1 200')
    const refused = await ask(port, expecting(101))
    expect(refused.text).toMatch(/^HTTP\/1\.1 413/)
  })

  it('one that trickles below the minimum rate is cut off, with a capsule', async () => {
    const { port } = await start(body({ minBytesPerSecond: 1_000_000, graceMs: 50 }))
    const { result, capsules } = await stand.after(async () => {
      const client = await rawClient(port)
      client.send(post('/files/a', 'x'.repeat(5000)).slice(0, -4000))
      return (await client.closed()).toString()
    })
    expect(result).toMatch(/^HTTP\/1\.1 400/)
    expect(capsules[0]?.disposition.verdict_class).toBe('denied')
    expect(upstream.requests).toEqual([])
  })

  it('a head that never ends is answered 408 and closed', async () => {
    const { port } = await start({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 100 } })
    const client = await rawClient(port)
    client.send('GET /files/a HTTP/1.1\r\nhost: g\r\n')
    expect((await client.closed()).toString()).toMatch(/^HTTP\/1\.1 408/)
  })
})

describe('refusals of unknown callers', () => {
  const anonymous = get('/files/a').replace(AUTH, '')

  it('above the limit cost no capsule: the socket closes and one event counts them; known callers pass', async () => {
    const { port } = await start({ limits: { maxRefusals: 3, windowSeconds: 3600 } })
    const statuses: number[] = []
    const { capsules } = await stand.after(async () => {
      for (let i = 0; i < 3; i++) statuses.push((await ask(port, anonymous)).status)
      statuses.push((await ask(port, get('/nowhere').replace(AUTH, ''))).status)
      for (let i = 0; i < 5; i++) statuses.push((await ask(port, anonymous)).status)
    })
    expect(statuses).toEqual([401, 401, 401, 0, 0, 0, 0, 0, 0])
    expect(capsules).toHaveLength(3)
    expect((await ask(port, get('/files/a'))).status).toBe(200)
    expect(stand.proxy.stats().dropped).toBe(6)
    await stand.proxy.close(0)
    const dropped = (await stand.lines()).filter(({ type }) => type === 'REFUSALS_DROPPED')
    expect(dropped).toHaveLength(1)
    expect(dropped[0]).toMatchObject({ count: 6, window_seconds: 3600 })
    expect(dropped[0]?.source_hash).toMatch(/^[0-9a-f]{64}$/)
  })

  it('count whatever the refusal was for: an unmatched path is no way around', async () => {
    const { port } = await start({ limits: { maxRefusals: 2, windowSeconds: 3600 } })
    const nowhere = get('/nowhere').replace(AUTH, '')
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await ask(port, nowhere)).status)
    expect(statuses).toEqual([401, 401, 0, 0])
  })

  it('take one IPv6 network and one mapped IPv4 address for one source', () => {
    expect(networkOf('::ffff:10.0.0.1')).toBe('10.0.0.1')
    expect(networkOf('2001:db8:1:2::1')).toBe(networkOf('2001:DB8:1:2:ffff:1:2:3'))
    expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'))
    expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64')
    expect(networkOf('::1')).toBe('0:0:0:0::/64')
  })
})

describe('overload', () => {
  it('is answered 503 before anything is read or recorded', async () => {
    const { port, proxy } = await start({ limits: { maxLoopDelayMs: 0 } })
    for (;;) {
      const { result, capsules } = await stand.after(() => ask(port, get('/files/a')))
      if (result.status === 200) continue
      expect(result.status).toBe(503)
      expect(JSON.parse(result.body.toString())).toMatchObject({ code: 'overloaded' })
      expect(result.headers.get('retry-after')).toBe('1')
      expect(capsules).toEqual([])
      expect(proxy.ready()).toBe(false)
      return
    }
  })
})

describe('/.gate/v1/actions/{id}', () => {
  const status = (id: string, token = TOKEN): string =>
    get(`/.gate/v1/actions/${id}`).replace(TOKEN, token)

  it('tells the owner state, verdict and capsule; to anybody else it is the same 404 as nothing', async () => {
    const { port } = await start()
    const done = await ask(port, post('/files/a', 'x', 'idempotency-key: k\r\n'))
    const refused = await ask(port, get('/nowhere'))
    for (const [answer, verdict, kept] of [
      [done, 'executed', true],
      [refused, 'denied', false],
    ] as const) {
      const id = answer.headers.get('gate-action') ?? ''
      const own = await ask(port, status(id))
      expect(own.status).toBe(200)
      expect(JSON.parse(own.body.toString())).toEqual({
        action_id: id,
        state: 'concluded',
        verdict,
        capsule_id: answer.headers.get('gate-capsule'),
        result_available: kept,
      })
      const other = await ask(port, status(id, OTHER_TOKEN))
      const nothing = await ask(port, status('00000000-0000-7000-8000-000000000000', OTHER_TOKEN))
      expect(other.status).toBe(404)
      expect(other.body).toEqual(nothing.body)
      expect((await ask(port, status(id, 'wrong'))).status).toBe(401)
    }
  })

  it('is in flight while the upstream has not answered', async () => {
    let id = ''
    await start({
      seam: async (name) => {
        if (name !== 'after_last_byte') return
        const lines = await stand.lines()
        id = String(lines.find(({ type }) => type === 'ACTION_DISPATCHED')?.action_id)
        const asked = await ask(stand.port, status(id))
        expect(JSON.parse(asked.body.toString())).toMatchObject({
          state: 'in_flight',
          verdict: null,
        })
      },
    })
    expect((await ask(stand.port, get('/files/a'))).headers.get('gate-action')).toBe(id)
  })

  it('and nothing else under /.gate/ exists, and none of it is ever forwarded', async () => {
    const { port } = await start()
    for (const path of [
      '/.gate',
      '/.gate/',
      '/.gate/v1',
      '/.gate/v1/actions/',
      '/.gate/v2/x',
      '/.gate?x',
    ]) {
      expect((await ask(port, get(path))).status).toBe(404)
    }
    expect((await ask(port, post('/.gate/v1/actions/x', '{}'))).status).toBe(404)
    expect(upstream.requests).toEqual([])
  })
})

describe('closing', () => {
  it('is not ready at once, answers what is under way, and takes nothing new', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { port, proxy } = await start({
      seam: async (name) => (name === 'before_first_byte' ? held : undefined),
    })
    const client = await rawClient(port)
    client.send(get('/files/a').replace('connection: close\r\n', ''))
    while (proxy.stats().active === 0) await new Promise((resolve) => setImmediate(resolve))
    const closed = proxy.close(60_000)
    expect(proxy.ready()).toBe(false)
    await expect(rawClient(port)).rejects.toThrow('ECONNREFUSED')
    release()
    const text = (await client.closed()).toString()
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    await closed
    expect(await stand.capsules()).toHaveLength(1)
  })

  it('cuts off an upstream that never answers, and concludes the call before it is done', async () => {
    upstream = await rawUpstream(async (peer) => {
      await peer.request()
    })
    stand = await startStand({ upstream: upstream.origin })
    const client = await rawClient(stand.port)
    client.send(get('/files/a'))
    while (upstream.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await stand.proxy.close(0)
    expect((await client.closed()).toString()).toMatch(/^HTTP\/1\.1 502/)
    const [capsule] = await stand.capsules()
    expect(capsule?.effect?.status).toBe('dispatched')
  })
})
