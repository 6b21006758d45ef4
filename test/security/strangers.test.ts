import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { type AppHandler, gate, governedProxy } from '../../src/express.js'
import {
  ask,
  get,
  OTHER_TOKEN,
  parseAnswer,
  rawClient,
  type Stand,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { listen } from '../support/listen.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** A caller without a credential costs its head, one capsule and nothing else, whatever it sends. */
const NINE_MB = 9 * 1024 * 1024
const stranger = (line: string, headers = '', body = ''): string =>
  `${line} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${headers}\r\n${body}`

let upstream: RawUpstream
let stand: Stand
let app: { readonly port: number; close(): Promise<void> }
let mounted: { readonly port: number; close(): Promise<void> }
let proxied: { close(): Promise<void> }
beforeAll(async () => {
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  stand = await startStand({
    upstream: upstream.origin,
    limits: { maxRefusals: 10_000 },
    passThrough: [{ path: '/open', upstream: 'default', kind: 'http' }],
  })
  const behind = gate(stand.gate)
  const handler: AppHandler = (_req, res) => void res.end('ok')
  app = await listen(express().use(behind as never, handler as never))
  const governed = governedProxy({ gate: stand.gate, target: upstream.origin })
  proxied = governed
  mounted = await listen(express().use(governed as never))
})
afterAll(async () => {
  await app.close()
  await mounted.close()
  await proxied.close()
  await stand.close()
  await upstream.close()
})

const MOUNTS = [
  ['the proxy', () => stand.port],
  ['Express middleware', () => app.port],
  ['governedProxy', () => mounted.port],
] as const

describe.each(MOUNTS)('a stranger at %s', (_name, port) => {
  it.each([
    ['a governed path', 'GET /files/a', ''],
    ['a path that nothing matches', 'GET /nowhere', ''],
    ['a method that is not served', 'TRACE /files/a', ''],
    ['a target that cannot be judged', 'GET /a/../files/a', ''],
    ['a reserved path', 'GET /.gate/v1/actions/0193a5c0-0000-7000-8000-000000000000', ''],
    ['a reserved path that does not exist', 'DELETE /.gate/nothing', ''],
    [
      'a head that can be read in two ways',
      'GET /files/a',
      'content-type: a/b\r\ncontent-type: c/d\r\n',
    ],
    [
      'an expectation that cannot be met',
      'GET /files/a',
      'authorization: Bearer wrong\r\nte: x\r\n',
    ],
    ['a body over the limit', 'POST /files/a', 'content-length: 99999999\r\n'],
    [
      'a body that is not JSON',
      'POST /pay',
      'content-type: application/json\r\ncontent-length: 1\r\n',
    ],
  ])('gets the same 401 and one capsule for %s', async (_what, line, headers) => {
    const request = stranger(line, headers, headers.includes('length') ? '{' : '')
    const { result, capsules } = await stand.after(() => ask(port(), request))
    expect(result.status).toBe(401)
    expect(JSON.parse(result.body.toString())).toMatchObject({ code: 'unauthenticated' })
    expect(capsules).toHaveLength(1)
    expect(capsules[0]).toMatchObject({
      developer: 'anonymous',
      disposition: { verdict_class: 'denied' },
    })
    // What the record says of the tool would say which paths exist.
    expect(capsules[0]?.['dev.capsulegate.manifest_digest']).toBeUndefined()
  })

  it.each([
    ['announced', `content-length: ${NINE_MB}\r\n`, Buffer.alloc(NINE_MB, 0x61)],
    [
      'chunked',
      'transfer-encoding: chunked\r\n',
      Buffer.concat([Buffer.from('900000\r\n'), Buffer.alloc(NINE_MB, 0x61)]),
    ],
  ])(
    'sends 9 MB (%s) that are never read, and the connection is closed',
    async (_h, framing, body) => {
      const sockets: Socket[] = []
      const seen = (message: unknown): void => {
        sockets.push((message as { socket: Socket }).socket)
      }
      channel('http.server.request.start').subscribe(seen)
      try {
        const client = await rawClient(port())
        client.send(`POST /files/a HTTP/1.1\r\nhost: gate\r\n${framing}\r\n`)
        client.send(body)
        const answer = parseAnswer(await client.closed())
        expect(answer.status).toBe(401)
        expect(answer.headers.get('connection')).toBe('close')
        expect(sockets).toHaveLength(1)
        // The parser reads on until its buffer is full; a 9 MB body is two orders above that.
        expect(sockets[0]?.bytesRead).toBeLessThan(512 * 1024)
        expect(sockets[0]?.destroyed).toBe(true)
      } finally {
        channel('http.server.request.start').unsubscribe(seen)
      }
    },
  )
})

describe('at the proxy', () => {
  it('a stranger that waits for 100 Continue never gets it', async () => {
    const expects = 'expect: 100-continue\r\ncontent-length: 9\r\n'
    const refused = await ask(stand.port, stranger('POST /files/a', expects))
    expect(refused.text).toMatch(/^HTTP\/1\.1 401/)
    expect(refused.text).not.toContain('100 Continue')
  })

  it('a wrong token is a stranger too, and a right one is not', async () => {
    const wrong = await ask(stand.port, get('/nowhere').replace(TOKEN, `${OTHER_TOKEN}-not`))
    expect(wrong.status).toBe(401)
    expect((await ask(stand.port, get('/nowhere'))).status).toBe(403)
  })

  it('a caller is identified once per exchange, refused or not', async () => {
    const { identity } = stand.gate.parts
    const { identify } = identity
    let asked = 0
    identity.identify = (caller) => {
      asked++
      return identify(caller)
    }
    try {
      await ask(stand.port, stranger('GET /files/a'))
      expect(asked).toBe(1)
      await ask(stand.port, get('/nowhere'))
      expect(asked).toBe(2)
      await ask(stand.port, get('/.gate/v1/nothing'))
      expect(asked).toBe(3)
    } finally {
      identity.identify = identify
    }
  })

  it('a pass-through route stays open to strangers', async () => {
    expect((await ask(stand.port, stranger('GET /open/page'))).status).toBe(200)
  })

  it('reserved targets count for the limit of refusals', async () => {
    const limited = await startStand({
      upstream: upstream.origin,
      limits: { maxRefusals: 2, windowSeconds: 3600 },
    })
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) {
      statuses.push((await ask(limited.port, stranger('GET /.gate/v1/actions/x'))).status)
    }
    expect(statuses).toEqual([401, 401, 0, 0])
    await limited.close()
  })
})
