import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { requestHead } from '../../../src/adapters/http-client/request-head.js'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  answering,
  type Behaviour,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request, sent } from './harness.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
let server: RawUpstream | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  await upstream?.close()
  await server?.close()
})
async function against(
  behave: Behaviour,
  credential?: { header: string; value(): string },
): Promise<Upstream> {
  server = await rawUpstream(behave)
  upstream = createUpstream({
    name: 'tool',
    origin: server.origin,
    ...(credential === undefined ? {} : { credential }),
  })
  return upstream
}

describe('what is put on the wire', () => {
  it('is the frozen request with our own Host, coding, length and credential', async () => {
    const tool = await against(answering(OK), { header: 'Authorization', value: () => 'Bearer s3' })
    complete(
      await tool.send(
        request({
          target: '/v1/refunds?a=%2F&b=1',
          headers: [
            ['content-type', 'application/json'],
            ['authorization', 'Bearer of-the-agent'],
            ['host', 'evil'],
            ['accept-encoding', 'gzip'],
            ['content-length', '1'],
            ['transfer-encoding', 'chunked'],
            ['expect', '100-continue'],
            ['connection', 'x-hop'],
            ['x-hop', '1'],
            ['te', 'trailers'],
            ['idempotency-key', 'k1'],
          ],
        }),
        { ...RULE, connection: 'pooled' },
        collector(),
        ALLOWED,
      ),
    )
    expect(server?.requests[0]?.head.split('\r\n')).toEqual([
      'POST /v1/refunds?a=%2F&b=1 HTTP/1.1',
      `host: 127.0.0.1:${server?.port}`,
      'accept-encoding: identity',
      'content-type: application/json',
      'idempotency-key: k1',
      'authorization: Bearer s3',
      'content-length: 17',
    ])
    expect(server?.requests[0]?.body.toString()).toBe('{"amount":"1.00"}')
  })

  it.each([
    ['POST', 0, 'content-length: 0'],
    ['GET', 0, null],
    ['DELETE', 0, null],
    ['DELETE', 3, 'content-length: 3'],
  ] as const)('%s with %i octets says %s', (method, length, expected) => {
    const head = requestHead(
      request({ method, body: Buffer.alloc(length) }),
      'tool.test',
      'pooled',
      null,
    )
    expect(/content-length: \d+/.exec(head ?? '')?.[0] ?? null).toBe(expected)
  })

  it.each([1, 63 * 1024, 65 * 1024, 8 * 1024 * 1024])(
    'a body of %i octets arrives whole',
    async (n) => {
      const tool = await against(answering(OK))
      const body = Buffer.alloc(n, 'abcdefg')
      complete(await tool.send(request({ body }), RULE, collector(), ALLOWED))
      expect(server?.requests[0]?.body.equals(body)).toBe(true)
    },
  )

  it('nothing an agent or a secret holds can break out of its line', () => {
    const wild = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom('a\r\nx: y', 'a\nb', '\0', 'é', '\u0100', 'a b'),
    )
    fc.assert(
      fc.property(wild, wild, wild, wild, wild, (method, path, name, value, secret) => {
        const head = requestHead(
          { method, target: `/${path}`, headers: [[name, value]], body: Buffer.alloc(0) },
          'tool.test',
          'pooled',
          ['x-secret', secret],
        )
        if (head === null) return
        expect(head.endsWith('\r\n\r\n')).toBe(true)
        const lines = head.slice(0, -4).split('\r\n')
        expect(lines.length).toBeLessThanOrEqual(6)
        for (const line of lines) expect(line).toMatch(/^[\t\x20-\x7e\x80-\xff]+$/)
        expect(lines[0]?.split(' ')).toHaveLength(3)
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['a target with a space', { target: '/a b' }],
    ['an absolute target', { target: 'http://evil/' }],
    ['a header with a line break', { headers: [['x', 'a\r\nb: c']] as const }],
    ['CONNECT', { method: 'CONNECT' }],
  ])('%s is not sent', async (_, over) => {
    const tool = await against(answering(OK))
    expect(await tool.send(request(over), RULE, collector(), ALLOWED)).toMatchObject({
      kind: 'not_sent',
      cause: 'unsendable_request',
    })
    expect(server?.connections()).toBe(0)
  })

  it.each([
    [
      'throws',
      (): string => {
        throw new Error('vault sealed: s3cret')
      },
    ],
    ['is empty', () => ''],
  ])('a credential that %s: nothing is sent and nothing is told', async (_, value) => {
    const tool = await against(answering(OK), { header: 'authorization', value })
    const seen = await tool.send(request(), RULE, collector(), ALLOWED)
    expect(seen).toEqual({ kind: 'not_sent', cause: 'credential_unavailable', deadline: false })
    expect(server?.connections()).toBe(0)
  })
})

describe('before the first byte', () => {
  it.each([
    ['says no', () => false],
    [
      'throws',
      (): boolean => {
        throw new Error('state lost')
      },
    ],
  ])('stillAllowed %s: withdrawn, and the upstream got no byte', async (_, stillAllowed) => {
    let bytes = 0
    const tool = await against((peer) => {
      peer.socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
    })
    expect(await tool.send(request(), RULE, collector(), { stillAllowed })).toEqual({
      kind: 'not_sent',
      cause: 'withdrawn',
      deadline: false,
    })
    await server?.close()
    expect(bytes).toBe(0)
  })

  it('stillAllowed is asked once, after the connection stands and before any byte', async () => {
    const order: string[] = []
    const tool = await against(async (peer) => {
      order.push('accepted')
      await peer.request()
      order.push('received')
      await peer.write(OK)
    })
    complete(
      await tool.send(request(), RULE, collector(), {
        stillAllowed: () => order.push('asked') > 0,
      }),
    )
    expect(order.filter((step) => step === 'asked')).toHaveLength(1)
    expect(order.indexOf('asked')).toBeLessThan(order.indexOf('received'))
  })

  it('connect refused: not sent', async () => {
    const probe = createServer()
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
    const address = probe.address()
    const port = typeof address === 'object' ? address?.port : 0
    await new Promise((resolve) => probe.close(resolve))
    upstream = createUpstream({ name: 'tool', origin: `http://127.0.0.1:${port}` })
    expect(await upstream.send(request(), RULE, collector(), ALLOWED)).toEqual({
      kind: 'not_sent',
      cause: 'connect_failed:ECONNREFUSED',
      deadline: false,
    })
  })

  it('a name that does not exist: not sent', async () => {
    upstream = createUpstream({ name: 'tool', origin: 'http://no-such-host.invalid' })
    const seen = await upstream.send(request(), RULE, collector(), ALLOWED)
    expect(seen).toMatchObject({ kind: 'not_sent', deadline: false })
  })

  it.each(['ftp://a', 'http://a/path', 'http://user@a', 'http://a?q=1'])(
    '%s is no origin',
    (origin) => {
      expect(() => createUpstream({ name: 'tool', origin })).toThrow(/upstream tool/)
    },
  )
})

describe('aborting', () => {
  it('before the call: not sent', async () => {
    const tool = await against(answering(OK))
    const signal = AbortSignal.abort()
    expect(
      await tool.send(request(), RULE, collector(), { stillAllowed: () => true, signal }),
    ).toMatchObject({ kind: 'not_sent', cause: 'aborted' })
    expect(server?.connections()).toBe(0)
  })

  it('after the request arrived: sent, with what was read so far', async () => {
    const abort = new AbortController()
    const tool = await against(async (peer) => {
      await peer.request()
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234')
    })
    const sink = collector()
    const seen = sent(
      await tool.send(
        request(),
        RULE,
        {
          ...sink,
          data: (chunk) => {
            abort.abort()
            return sink.data(chunk)
          },
        },
        { stillAllowed: () => true, signal: abort.signal },
      ),
    )
    expect(seen).toMatchObject({ cause: 'aborted', status: 200, partial: { length: 5 } })
  })

  it('one signal over many calls: those under way are cut, those over are not touched', async () => {
    const abort = new AbortController()
    const control = { stillAllowed: () => true, signal: abort.signal }
    let open = 0
    const tool = await against(async (peer) => {
      if (peer.index < 2) return answering(OK)(peer)
      await peer.request()
      open++
    })
    for (let i = 0; i < 2; i++) complete(await tool.send(request(), RULE, collector(), control))
    const under = Array.from({ length: 3 }, () => tool.send(request(), RULE, collector(), control))
    while (open < 3) await new Promise((resolve) => setImmediate(resolve))
    abort.abort()
    for (const seen of await Promise.all(under)) {
      expect(seen).toMatchObject({ kind: 'sent', cause: 'aborted' })
    }
    expect(await tool.send(request(), RULE, collector(), control)).toMatchObject({
      kind: 'not_sent',
      cause: 'aborted',
    })
  })
})
