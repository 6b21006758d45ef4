import { afterEach, describe, expect, it } from '@jest/globals'
import { AUTH, ask, get, rawClient, type Stand, startStand } from '../mounts/proxy/harness.js'
import {
  answering,
  type Behaviour,
  type RawUpstream,
  rawUpstream,
} from '../support/raw-upstream.js'

/** A WebSocket route is a tunnel: nothing but an accepted Upgrade on a listed route may open it. */
let upstream: RawUpstream
let stand: Stand
async function start(behaviour: Behaviour): Promise<void> {
  upstream = await rawUpstream(behaviour)
  stand = await startStand({
    upstream: upstream.origin,
    passThrough: [{ path: '/live', upstream: 'default', kind: 'websocket' }],
  })
}
afterEach(async () => {
  await stand.close()
  await upstream.close()
})

const UPGRADE = 'connection: Upgrade\r\nupgrade: websocket\r\n'
const KEY = 'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const opening = (target: string, fields = `${UPGRADE}${KEY}`, line = 'GET'): string =>
  `${line} ${target} HTTP/1.1\r\nhost: g\r\n${AUTH}${fields}\r\n`
const SMUGGLED = `POST /files/smuggled HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n`
const idle = async (): Promise<void> => {
  while (stand.proxy.stats().active > 0) await new Promise((resolve) => setImmediate(resolve))
}

describe('an upgrade that is no plain one is refused with a capsule, and nothing is sent', () => {
  it.each([
    [
      'a body by Content-Length behind it',
      opening('/live', `${UPGRADE}${KEY}content-length: ${SMUGGLED.length}\r\n`) + SMUGGLED,
    ],
    [
      'a chunked body behind it',
      `${opening('/live', `${UPGRADE}${KEY}transfer-encoding: chunked\r\n`)}0\r\n\r\n${SMUGGLED}`,
    ],
    [
      'Upgrade: h2c',
      opening(
        '/live',
        'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n',
      ),
    ],
    ['Upgrade: TLS/1.2', opening('/live', 'connection: Upgrade\r\nupgrade: TLS/1.2\r\n')],
    [
      'two protocols in one Upgrade',
      opening('/live', 'connection: Upgrade\r\nupgrade: websocket, h2c\r\n'),
    ],
    ['two Upgrade fields', opening('/live', `${UPGRADE}upgrade: h2c\r\n`)],
    [
      'another version in Upgrade',
      opening('/live', 'connection: Upgrade\r\nupgrade: websocket/13\r\n'),
    ],
    ['POST', opening('/live', `${UPGRADE}${KEY}`, 'POST')],
    ['HEAD', opening('/live', `${UPGRADE}${KEY}`, 'HEAD')],
    ['two Hosts', opening('/live', `${UPGRADE}${KEY}host: other\r\n`)],
    ['a route that is not listed', opening('/other')],
    ['a route that only begins alike', opening('/livex')],
    ['a way out by dots', opening('/live/../files/a')],
    ['a way out by encoded dots', opening('/live/%2e%2e/files/a')],
    ['a way out by an encoded slash', opening('/live%2f..%2ffiles')],
    ['an absolute target', opening('http://elsewhere/live')],
    ['a governed route', opening('/files/a')],
  ])('%s', async (_, bytes) => {
    await start(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const client = await rawClient(stand.port)
    client.send(bytes)
    client.socket.end()
    const text = (await client.closed()).toString('latin1')
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d/)
    expect(text).not.toContain('HTTP/1.1 101')
    expect(upstream.requests).toEqual([])
    const capsules = await stand.capsules()
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.action_type).toBe('decide')
    expect(capsules[0]?.effect).toBeUndefined()
  })

  it('CONNECT is not served', async () => {
    await start(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const { status } = await ask(
      stand.port,
      `CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: g\r\n${AUTH}\r\n`,
    )
    expect(status).toBe(400)
    expect(upstream.requests).toEqual([])
  })
})

describe('a tool that does not accept the upgrade gets nothing of what was sent behind it', () => {
  it.each([
    ['200', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno'],
    ['400', 'HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'],
    [
      '426',
      'HTTP/1.1 426 Upgrade Required\r\nsec-websocket-version: 13\r\ncontent-length: 0\r\n\r\n',
    ],
    ['503', 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n'],
  ])('%s: a request pipelined behind the upgrade does not reach it', async (_, answer) => {
    await start(answering(answer))
    const client = await rawClient(stand.port)
    client.send(opening('/live', `${UPGRADE}sec-websocket-version: 777\r\n`) + SMUGGLED)
    await client.until((bytes) => bytes.includes('\r\n\r\n'))
    client.send(SMUGGLED)
    await client.closed()
    await idle()
    expect(upstream.requests.map(({ head }) => head.split('\r\n', 1)[0])).toEqual([
      'GET /live HTTP/1.1',
    ])
    for (const { action_type, effect } of await stand.capsules()) {
      expect(action_type).toBe('fyi')
      expect(effect?.status).not.toBe('confirmed')
    }
  })

  it('an answer cut in its head leaves no tunnel open', async () => {
    await start(async (peer) => {
      await peer.request()
      await peer.write('HTTP/1.1 101 Switch')
      peer.fin()
    })
    const client = await rawClient(stand.port)
    client.send(opening('/live') + SMUGGLED)
    expect((await client.closed()).toString()).not.toContain('HTTP/1.1 101')
    await idle()
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('a tunnel', () => {
  it('is opened without the agent’s credential, and recorded at both ends', async () => {
    await start(async (peer) => {
      await peer.request()
      await peer.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n',
      )
      peer.socket.on('data', (bytes) => peer.socket.write(bytes))
    })
    const client = await rawClient(stand.port)
    client.send(opening('/live', `${UPGRADE}${KEY}x-http-method-override: DELETE\r\n`))
    await client.until((bytes) => bytes.includes('101 Switching'))
    expect(upstream.requests[0]?.head).not.toMatch(/authorization|override/i)
    client.socket.destroy()
    await idle()
    expect(await stand.capsules()).toHaveLength(2)
  })

  it('pipelined behind a governed call waits for it, and behind a refused one is never opened', async () => {
    await start(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
    const client = await rawClient(stand.port)
    const malformed = get('/files/a', 'host: twice\r\n').replace('connection: close\r\n', '')
    client.send(malformed + opening('/live'))
    const text = (await client.closed()).toString('latin1')
    expect(text).toMatch(/^HTTP\/1\.1 400/)
    await idle()
    expect(upstream.requests).toEqual([])
  })
})
