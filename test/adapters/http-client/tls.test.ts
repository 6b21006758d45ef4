import { createServer as createTcpServer, type Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream, type UpstreamOptions } from '../../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { AUTHORITY, LOCALHOST, OTHER_NAME } from '../../support/certificates.js'
import { answering, type Behaviour, peerOf, type RawUpstream } from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request } from './harness.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
let upstream: Upstream | null = null
let stop: (() => Promise<void>) | null = null
afterEach(async () => {
  await upstream?.close()
  await stop?.()
})

type Raw = { readonly port: number; readonly requests: RawUpstream['requests'] }
async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stop = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
async function tlsServer(
  behave: (tls: TLSSocket, tcp: Socket) => Behaviour,
  certificate: { cert: string; key: string } = LOCALHOST,
  over: { requestCert?: boolean; rejectUnauthorized?: boolean; ca?: string } = {},
): Promise<Raw> {
  const requests: RawUpstream['requests'] = []
  const raw: Socket[] = []
  const server = createServer({ ...certificate, ...over, allowHalfOpen: true }, (tls) => {
    tls.on('error', () => {})
    const tcp = raw[raw.length - 1]
    if (tcp === undefined) throw new Error('no socket')
    Promise.resolve(behave(tls, tcp)(peerOf(tls, 0, requests))).catch(() => tls.destroy())
  })
  server.on('connection', (socket: Socket) => raw.push(socket))
  server.on('tlsClientError', () => {})
  return { port: await listen(server), requests }
}
const to = (port: number, over: Partial<UpstreamOptions> = {}): Upstream => {
  upstream = createUpstream({
    name: 'tool',
    origin: `https://127.0.0.1:${port}`,
    ca: AUTHORITY,
    ...over,
  })
  return upstream
}

describe('TLS', () => {
  it('a server of the given authority is reached, and its connection pooled', async () => {
    const server = await tlsServer(() => answering(OK))
    const tool = to(server.port)
    for (let i = 0; i < 3; i++) {
      complete(await tool.send(request(), { ...RULE, connection: 'pooled' }, collector(), ALLOWED))
    }
    expect(tool.stats()).toMatchObject({ opened: 1, reused: 2 })
  })

  it('a large request is known to be handed over before its answer counts', async () => {
    const server = await tlsServer(() => answering(OK))
    const body = Buffer.alloc(8 * 1024 * 1024, 'y')
    complete(await to(server.port).send(request({ body }), RULE, collector(), ALLOWED))
    expect(server.requests[0]?.body.equals(body)).toBe(true)
  })

  it.each([
    ['an unknown authority', LOCALHOST, { ca: OTHER_NAME.cert }],
    ['another name', OTHER_NAME, {}],
  ] as const)('%s: not sent', async (_, certificate, over) => {
    const server = await tlsServer(() => answering(OK), certificate)
    const seen = await to(server.port, over).send(request(), RULE, collector(), ALLOWED)
    expect(seen).toMatchObject({ kind: 'not_sent', deadline: false })
    expect(server.requests).toEqual([])
  })

  it('a server that speaks no TLS: not sent', async () => {
    const port = await listen(createTcpServer((socket) => socket.end(OK)))
    const seen = await to(port).send(request(), RULE, collector(), ALLOWED)
    expect(seen).toMatchObject({ kind: 'not_sent', deadline: false })
  })

  it('a handshake that never ends: not sent, by the connect deadline', async () => {
    const port = await listen(createTcpServer(() => {}))
    const deadlines = { connect_ms: 100, first_byte_ms: 10_000, total_ms: 20_000 }
    const seen = await to(port).send(request(), { ...RULE, deadlines }, collector(), ALLOWED)
    expect(seen).toEqual({ kind: 'not_sent', cause: 'connect_deadline', deadline: true })
  })

  it('the total deadline counts while connecting', async () => {
    const port = await listen(createTcpServer(() => {}))
    const deadlines = { connect_ms: 10_000, first_byte_ms: 10_000, total_ms: 100 }
    const seen = await to(port).send(request(), { ...RULE, deadlines }, collector(), ALLOWED)
    expect(seen).toMatchObject({ kind: 'not_sent', deadline: true })
  })

  it('a client certificate is shown when given, and its absence is never a success', async () => {
    const server = await tlsServer(() => answering(OK), LOCALHOST, {
      requestCert: true,
      rejectUnauthorized: true,
      ca: AUTHORITY,
    })
    complete(await to(server.port, LOCALHOST).send(request(), RULE, collector(), ALLOWED))
    await upstream?.close()
    const seen = await to(server.port).send(request(), RULE, collector(), ALLOWED)
    expect(seen.kind).not.toBe('complete')
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    ['close_notify and FIN', (tls: TLSSocket) => tls.end()],
    ['a FIN under TLS', (_: TLSSocket, tcp: Socket) => tcp.end()],
    ['a reset under TLS', (_: TLSSocket, tcp: Socket) => tcp.resetAndDestroy()],
  ])('close-delimited, accepted, ended by %s: truncation cannot be excluded', async (_, end) => {
    const server = await tlsServer((tls, tcp) => async (peer) => {
      await peer.request()
      await peer.write('HTTP/1.1 200 OK\r\n\r\nhello')
      end(tls, tcp)
    })
    const rule = { ...RULE, close_delimited: 'accept' } as const
    const seen = await to(server.port).send(request(), rule, collector(), ALLOWED)
    expect(seen).toMatchObject({ kind: 'sent', status: 200, partial: { length: 5 } })
  })
})
