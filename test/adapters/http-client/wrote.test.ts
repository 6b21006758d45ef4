import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream, type UpstreamOptions } from '../../../src/adapters/http-client/upstream.js'
import type { DispatchControl, OutgoingRequest, Upstream } from '../../../src/ports/upstream.js'
import { AUTHORITY, LOCALHOST } from '../../support/certificates.js'
import { type Behaviour, peerOf, type RawUpstream } from '../../support/raw-upstream.js'
import { collector, complete, RULE, request, sent } from './harness.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const POOLED = { ...RULE, connection: 'pooled' } as const

let upstream: Upstream | null = null
let stop: (() => Promise<void>) | null = null
afterEach(async () => {
  await upstream?.close()
  await stop?.()
  upstream = null
  stop = null
})

/** A server that keeps every octet of every connection, in the order in which they came. */
type Listening = { readonly received: Buffer[][]; readonly port: number }
async function listen(behave: Behaviour, tls: boolean): Promise<Listening> {
  const received: Buffer[][] = []
  const sockets = new Set<Socket>()
  const requests: RawUpstream['requests'] = []
  const serve = (socket: Socket): void => {
    const octets: Buffer[] = []
    const index = received.push(octets) - 1
    socket.on('error', () => {})
    Promise.resolve(behave(peerOf(socket, index, requests))).catch(() => socket.destroy())
    // Behind the peer, which takes a socket that somebody listens to already for one that it reads.
    socket.on('data', (chunk: Buffer) => octets.push(chunk))
  }
  const options = { allowHalfOpen: true }
  const server = tls
    ? createTlsServer({ ...LOCALHOST, ...options }, serve)
    : createServer(options, serve)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stop = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { received, port: address.port }
}

const octetsOf = (received: readonly Buffer[] | undefined): Buffer => Buffer.concat(received ?? [])

type Said = { readonly head: string; readonly body: Uint8Array }
function listener(more: Partial<DispatchControl> = {}) {
  const said: Said[] = []
  const control: DispatchControl = {
    stillAllowed: () => true,
    wrote: (head, body) => void said.push({ head, body }),
    ...more,
  }
  return { said, control }
}
const joined = (said: readonly Said[]): Buffer =>
  Buffer.concat(said.flatMap(({ head, body }) => [Buffer.from(head, 'latin1'), Buffer.from(body)]))

const each: Behaviour = async (peer) => {
  for (;;) {
    await peer.request()
    await peer.write(OK)
  }
}
const open = (port: number, tls = false, over: Partial<UpstreamOptions> = {}): Upstream => {
  upstream = createUpstream({
    name: 'tool',
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    ...(tls ? { ca: AUTHORITY } : {}),
    credential: { header: 'x-key', value: () => 'k\u00e9y' },
    ...over,
  })
  return upstream
}

const REQUESTS: readonly (readonly [string, Partial<OutgoingRequest>])[] = [
  ['no body', { method: 'GET', target: '/v1/refunds?a=%C3%A9&a=', body: new Uint8Array() }],
  ['a small body', {}],
  ['a header beyond ASCII', { headers: [['x-name', 'caf\u00e9']] }],
  ['a body just below one write', { body: Buffer.alloc(64 * 1024 - 300, 'abc') }],
  ['a body beyond one write', { body: Buffer.alloc(64 * 1024, 'abc') }],
  ['a body beyond every buffer', { body: Buffer.alloc(8 * 1024 * 1024, 'abcdefg') }],
]

describe.each([
  ['TCP', false],
  ['TLS', true],
] as const)('over %s, what was written is what the server received', (_, tls) => {
  it.each(REQUESTS)('%s', async (_name, over) => {
    const { received, port } = await listen(each, tls)
    const { said, control } = listener()
    complete(await open(port, tls).send(request(over), RULE, collector(), control))
    expect(said).toHaveLength(1)
    expect(joined(said).equals(octetsOf(received[0]))).toBe(true)
  })

  it('one after the other on one connection', async () => {
    const { received, port } = await listen(each, tls)
    const { said, control } = listener()
    const tool = open(port, tls)
    for (const [, over] of REQUESTS) {
      complete(await tool.send(request(over), POOLED, collector(), control))
    }
    expect(tool.stats()).toMatchObject({ opened: 1, reused: REQUESTS.length - 1 })
    expect(said).toHaveLength(REQUESTS.length)
    // Told octets stay what they were, whatever is sent after them.
    expect(joined(said).equals(octetsOf(received[0]))).toBe(true)
  })
})

describe('it is told', () => {
  it('behind the last check and before the first octet', async () => {
    const order: string[] = []
    const { port } = await listen(async (peer) => {
      await peer.request()
      order.push('received')
      await peer.write(OK)
    }, false)
    const { control } = listener({
      stillAllowed: () => order.push('asked') > 0,
      wrote: () => void order.push('wrote'),
    })
    complete(await open(port).send(request(), RULE, collector(), control))
    expect(order).toEqual(['asked', 'wrote', 'received'])
  })

  it('of the buffer that goes to the socket, not of the one that was handed over', async () => {
    const { received, port } = await listen(each, false)
    const { said, control } = listener()
    const body = Buffer.from('{"amount":"1.00"}')
    const sending = open(port).send(request({ body }), RULE, collector(), {
      ...control,
      stillAllowed() {
        body[11] = 0x39
        return true
      },
    })
    complete(await sending)
    body.fill(0)
    expect(Buffer.from(said[0]?.body ?? []).toString()).toBe('{"amount":"9.00"}')
    expect(joined(said).equals(octetsOf(received[0]))).toBe(true)
  })

  it.each([
    ['resets the connection', (peer: Parameters<Behaviour>[0]) => peer.reset()],
    ['cuts its answer', (peer: Parameters<Behaviour>[0]) => peer.fin()],
  ])('although the server %s', async (_, end) => {
    const { received, port } = await listen(async (peer) => {
      await peer.request()
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234')
      end(peer)
    }, false)
    const { said, control } = listener()
    sent(await open(port).send(request(), RULE, collector(), control))
    expect(said).toHaveLength(1)
    expect(joined(said).equals(octetsOf(received[0]))).toBe(true)
  })

  it('once, although the server never reads and the deadline ends it', async () => {
    const { port } = await listen((peer) => void peer.socket.pause(), false)
    const { said, control } = listener()
    const deadlines = { connect_ms: 5_000, first_byte_ms: 100, total_ms: 5_000 }
    const body = Buffer.alloc(8 * 1024 * 1024)
    sent(await open(port).send(request({ body }), { ...RULE, deadlines }, collector(), control))
    expect(said).toHaveLength(1)
  })
})

describe('nothing is told', () => {
  const NEVER: readonly (readonly [string, Partial<DispatchControl>])[] = [
    ['withdrawn', { stillAllowed: () => false }],
    [
      'withdrawn by a check that throws',
      {
        stillAllowed() {
          throw new Error('state lost')
        },
      },
    ],
    ['aborted', { signal: AbortSignal.abort() }],
  ]
  it.each(NEVER)('of a call that was %s', async (_, more) => {
    const { received, port } = await listen(each, false)
    const { said, control } = listener(more)
    expect((await open(port).send(request(), RULE, collector(), control)).kind).toBe('not_sent')
    expect(said).toEqual([])
    expect(octetsOf(received[0])).toHaveLength(0)
  })

  it('where the connection is refused', async () => {
    const { port } = await listen(each, false)
    await stop?.()
    const { said, control } = listener()
    const seen = await open(port).send(request(), RULE, collector(), control)
    expect(seen).toMatchObject({ kind: 'not_sent', cause: 'connect_failed:ECONNREFUSED' })
    expect(said).toEqual([])
  })

  it('of a request that cannot be put on the wire', async () => {
    const { port } = await listen(each, false)
    const { said, control } = listener()
    const seen = await open(port).send(request({ target: '/a b' }), RULE, collector(), control)
    expect(seen).toMatchObject({ kind: 'not_sent', cause: 'unsendable_request' })
    expect(said).toEqual([])
  })
})
