import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { AUTH, ask, get, post, rawClient, type Stand, startStand } from './harness.js'

let server: Server
let stand: Stand
let seen: IncomingMessage[] = []
beforeEach(async () => {
  seen = []
  server = createServer((req, res) => {
    seen.push(req)
    if (req.url === '/docs/broken') return res.writeHead(200, { 'content-length': 9 }).destroy()
    return res.writeHead(200, { 'gate-capsule': 'forged', 'x-up': '1' }).end(`at ${req.url}`)
  })
  server.on('upgrade', (req, socket) => {
    const key = createHash('sha1')
      .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    seen.push(req)
    socket.on('error', () => {})
    socket.on('end', () => socket.destroy())
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${key}\r\n\r\n`,
    )
    socket.on('data', (bytes: Buffer) => socket.write(bytes))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stand = await startStand({
    upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passThrough: [
      { path: '/docs', upstream: 'default', kind: 'http' },
      { path: '/files', upstream: 'default', kind: 'http' },
      { path: '/live', upstream: 'default', kind: 'websocket' },
    ],
  })
})
afterEach(async () => {
  await stand.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('a pass-through route', () => {
  it('passes reads on and leaves one informational capsule each, durable before the end', async () => {
    const { result, capsules } = await stand.after(() => ask(stand.port, get('/docs/x?y=1')))
    expect(result.status).toBe(200)
    expect(result.body.toString()).toBe('at /docs/x?y=1')
    expect(result.headers.get('x-up')).toBe('1')
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.action_type).toBe('fyi')
    expect(capsules[0]?.effect?.status).not.toBe('confirmed')
    expect(result.headers.get('gate-capsule')).toBe(capsules[0]?.capsule_id)
    expect(seen[0]?.headers.authorization).toBeUndefined()
  })

  it.each([
    ['a write', post('/docs/x', '{}'), 403],
    ['a read with a body', `${get('/docs/x', 'content-length: 1\r\n')}x`, 403],
    ['a way out of it by dots', get('/docs/../pay'), 400],
    ['a way out of it by encoded dots', get('/docs/%2e%2e/pay'), 400],
    ['a neighbour that only begins alike', get('/docsx'), 403],
    ['two Hosts', get('/docs/x', 'host: b\r\n'), 400],
    [
      'an Upgrade where no WebSocket route is',
      get('/docs/x', 'connection: upgrade\r\nupgrade: websocket\r\n'),
      400,
    ],
  ])('does not take %s', async (_, request, status) => {
    const { result, capsules } = await stand.after(() => ask(stand.port, request))
    expect(result.status).toBe(status)
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.action_type).toBe('decide')
    expect(seen).toEqual([])
  })

  it('never takes what a manifest governs', async () => {
    const { result } = await stand.after(() => ask(stand.port, get('/files/a').replace(AUTH, '')))
    expect(result.status).toBe(401)
    expect(seen).toEqual([])
  })

  it('cuts an answer that its upstream cut, with a capsule', async () => {
    const { result, capsules } = await stand.after(() => ask(stand.port, get('/docs/broken')))
    expect(result.status).toBe(502)
    expect(capsules).toHaveLength(1)
  })
})

describe('a WebSocket route', () => {
  it('records the opening before it opens and the end when it ends', async () => {
    const client = await rawClient(stand.port)
    client.send(
      `GET /live/1 HTTP/1.1\r\nhost: g\r\n${AUTH}connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    )
    await client.until((bytes) => bytes.includes('101 Switching'))
    expect(await stand.capsules()).toHaveLength(1)
    client.send('ping through')
    await client.until((bytes) => bytes.includes('ping through'))
    expect(seen[0]?.headers.authorization).toBeUndefined()
    client.socket.destroy()
    while (stand.proxy.stats().active > 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await stand.capsules()).toHaveLength(2)
  })

  it('does not take an Upgrade elsewhere: refused with a capsule', async () => {
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, get('/files/a', 'connection: upgrade\r\nupgrade: websocket\r\n')),
    )
    expect(result.status).toBe(400)
    expect(capsules).toHaveLength(1)
  })
})
