import { Agent, createServer, type RequestListener, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { createProxyMiddleware } from 'http-proxy-middleware'
import {
  AUTH,
  ask,
  OTHER_TOKEN,
  parseAnswer,
  rawClient,
  type Stand,
  startStand,
} from '../mounts/proxy/harness.js'
import { type Behaviour, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/**
 * A plain reverse proxy in front of the gate that pools its connections to it. It lets nobody reach
 * /files/secret; what it and the gate read differently would be a way around that.
 */
let upstream: RawUpstream
let stand: Stand
const echo: Behaviour = async (peer) => {
  for (;;) {
    const { head } = await peer.request()
    const path = head.split(' ')[1] ?? ''
    await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`)
  }
}
beforeAll(async () => {
  upstream = await rawUpstream(echo)
  stand = await startStand({ upstream: upstream.origin, limits: { maxRefusals: 1_000 } })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})

const SECRET = '/files/secret'
const inner = (more = ''): string =>
  `POST ${SECRET} HTTP/1.1\r\nhost: gate\r\n${AUTH}content-length: 0\r\n${more}\r\n`
const head = (fields: string): string =>
  `POST /files/outer HTTP/1.1\r\nhost: gate\r\n${AUTH}${fields}\r\n`
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const swallowing = `POST ${SECRET} HTTP/1.1\r\nhost: gate\r\n${AUTH}x-swallow: `

/** Each holds a second request for whoever frames the first one otherwise. */
const ATTACKS: readonly (readonly [name: string, bytes: string])[] = [
  [
    'CL.TE',
    head(`content-length: ${5 + inner().length}\r\ntransfer-encoding: chunked\r\n`) +
      `0\r\n\r\n${inner()}`,
  ],
  [
    'CL.TE that swallows the next head',
    head(`content-length: ${5 + swallowing.length}\r\ntransfer-encoding: chunked\r\n`) +
      `0\r\n\r\n${swallowing}`,
  ],
  [
    'TE.CL',
    `${head('content-length: 4\r\ntransfer-encoding: chunked\r\n')}${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE.TE, the second one unknown',
    head('transfer-encoding: chunked\r\ntransfer-encoding: cow\r\ncontent-length: 4\r\n') +
      `${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE with a space before the colon',
    `${head('transfer-encoding : chunked\r\ncontent-length: 4\r\n')}${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE of another coding first',
    `${head('transfer-encoding: identity, chunked\r\n')}${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE chunked in quotes',
    `${head('transfer-encoding: "chunked"\r\ncontent-length: 4\r\n')}${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE behind a vertical tab',
    head('transfer-encoding: \u000bchunked\r\ncontent-length: 4\r\n') +
      `${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'TE on HTTP/1.0',
    head('transfer-encoding: chunked\r\ncontent-length: 4\r\n').replace('1.1', '1.0') +
      `${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'an obs-fold that hides TE',
    head('x-a: b\r\n transfer-encoding: chunked\r\ncontent-length: 4\r\n') +
      `${chunk(inner())}0\r\n\r\n`,
  ],
  [
    'an obs-fold inside Content-Length',
    head(`content-length: 0\r\n ${inner().length}\r\n`) + inner(),
  ],
  [
    'Content-Length twice, differing',
    head(`content-length: 0\r\ncontent-length: ${inner().length}\r\n`) + inner(),
  ],
  ['Content-Length twice, alike', head('content-length: 0\r\ncontent-length: 0\r\n') + inner()],
  ['Content-Length as a list', head(`content-length: 0, ${inner().length}\r\n`) + inner()],
  ['Content-Length with a sign', head('content-length: +0\r\n') + inner()],
  ['Content-Length in hex', head('content-length: 0x0\r\n') + inner()],
  [
    'a chunk extension with a bare LF',
    head('transfer-encoding: chunked\r\n') +
      `2;\nxx\r\n${inner().length.toString(16)}\r\n0\r\n\r\n${inner()}`,
  ],
  ['a chunk size with a bare LF', `${head('transfer-encoding: chunked\r\n')}0\n\n${inner()}`],
  ['a chunk size that is signed', `${head('transfer-encoding: chunked\r\n')}-0\r\n\r\n${inner()}`],
  ['a chunk size with 0x', `${head('transfer-encoding: chunked\r\n')}0x0\r\n\r\n${inner()}`],
  [
    'a chunk size over 64 bits',
    `${head('transfer-encoding: chunked\r\n')}10000000000000000\r\n\r\n${inner()}`,
  ],
  [
    'lines of the head ended by a bare LF',
    head('content-length: 0\r\n').replaceAll('\r\n', '\n') + inner(),
  ],
  [
    'a field after a bare LF',
    head(`x-a: b\ncontent-length: ${inner().length}\r\ncontent-length: 0\r\n`) + inner(),
  ],
  [
    'a field after a bare CR',
    head(`x-a: b\rtransfer-encoding: chunked\r\ncontent-length: 4\r\n`) +
      `${chunk(inner())}0\r\n\r\n`,
  ],
  ['a NUL in a field', head(`x-a: b\0\r\ncontent-length: 0\r\n`) + inner()],
  [
    'an absolute target beside another Host',
    `POST http://elsewhere${SECRET} HTTP/1.1\r\nhost: gate\r\n${AUTH}content-length: 0\r\n\r\n`,
  ],
  [
    'a target with an encoded line end',
    `POST /files/outer%0d%0a%0d%0a HTTP/1.1\r\nhost: gate\r\n${AUTH}content-length: 0\r\n\r\n`,
  ],
  [
    'a body behind Expect that is not waited for',
    head(`expect: 100-continue\r\ncontent-length: ${inner().length}\r\n`) + inner(),
  ],
  [
    'Connection: Content-Length',
    head(`connection: content-length\r\ncontent-length: ${inner().length}\r\n`) + inner(),
  ],
  [
    'Connection: Transfer-Encoding',
    head('connection: transfer-encoding\r\ntransfer-encoding: chunked\r\n') +
      `${chunk(inner())}0\r\n\r\n`,
  ],
]

const VICTIM = `GET /files/victim HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer ${OTHER_TOKEN}\r\nconnection: close\r\n\r\n`

type Front = { readonly port: number; close(): Promise<void> }
async function front(listener: RequestListener, lenient: boolean): Promise<Front> {
  const server = createServer({ insecureHTTPParser: lenient }, (req, res) => {
    if (req.url?.includes(SECRET)) res.writeHead(403).end()
    else listener(req, res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
/** One connection to the gate for everybody: what is left on it meets the next caller. */
const pool = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 })
const plain =
  (lenient: boolean): RequestListener =>
  (req, res) => {
    const { method, url, rawHeaders } = req
    const out = send(
      { port: stand.port, method, path: url, agent, setHost: false, insecureHTTPParser: lenient },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    out.on('error', () => res.destroy())
    try {
      for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
        out.appendHeader(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '')
      }
    } catch (error) {
      // A field that node:http reads leniently and does not write.
      out.destroy(error as Error)
      return
    }
    req.on('error', () => out.destroy())
    req.pipe(out)
  }
let agent: Agent
const FRONTS: Record<string, { lenient: boolean; listener: () => RequestListener }> = {
  'node:http': { lenient: false, listener: () => plain(false) },
  'node:http with its lenient parser': { lenient: true, listener: () => plain(true) },
  'http-proxy-middleware': {
    lenient: false,
    listener: () =>
      express().use(
        createProxyMiddleware({ target: `http://127.0.0.1:${stand.port}`, agent }),
      ) as RequestListener,
  },
}

/** The victim got its own answer, once, and the attacker got nobody past the front. */
async function unharmed(before: number, answer: { status: number; body: Buffer }): Promise<void> {
  expect(upstream.requests.filter(({ head: sent }) => sent.includes(SECRET))).toEqual([])
  expect([answer.status, answer.body.toString()]).toEqual([200, '/files/victim'])
  const capsules = (await stand.capsules()).slice(before)
  expect(capsules.filter(({ developer }) => developer === 'other/1')).toHaveLength(1)
}

describe.each(Object.entries(FRONTS))('behind %s, which pools', (_, { lenient, listener }) => {
  let open: Front
  beforeEach(async () => {
    agent = pool()
    open = await front(listener(), lenient)
  })
  afterEach(async () => {
    agent.destroy()
    await open.close()
  })

  it.each(ATTACKS)('%s', async (_name, bytes) => {
    const before = (await stand.capsules()).length
    const attacker = await rawClient(open.port)
    attacker.send(bytes)
    attacker.socket.end()
    await attacker.closed()
    await unharmed(before, await ask(open.port, VICTIM))
  })
})

describe('behind a front that passes octets on as they are', () => {
  it.each(ATTACKS)('%s', async (_name, bytes) => {
    const before = (await stand.capsules()).length
    const pooled = await rawClient(stand.port)
    // The front took all of it for one request, waits for one answer and lends the connection on.
    pooled.send(bytes)
    pooled.send(VICTIM)
    const answers = (await pooled.closed()).toString('latin1')
    expect(upstream.requests.filter(({ head: sent }) => sent.includes(SECRET))).toEqual([])
    const taken = answers.indexOf('/files/victim')
    // Refused and closed: such a front opens another connection for the victim.
    const answer =
      taken === -1
        ? await ask(stand.port, VICTIM)
        : parseAnswer(Buffer.from(answers.slice(answers.lastIndexOf('HTTP/1.1 200'))))
    await unharmed(before, answer)
  })
})

describe('X-Forwarded-* and their kin', () => {
  it.each([
    'x-forwarded-for: 127.0.0.1',
    'x-forwarded-user: bot',
    'x-remote-user: bot',
    'x-forwarded-client-cert: Subject="CN=bot"',
    'x-ssl-client-s-dn: CN=bot',
    'x-client-cert: CN=bot',
    'forwarded: for=127.0.0.1;by=bot',
    'x-forwarded-access-token: x',
    'proxy-authorization: Bearer cg_agent_for-tests-only',
  ])('%s identifies nobody', async (field) => {
    const { status } = await ask(
      stand.port,
      `GET /files/x HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${field}\r\n\r\n`,
    )
    expect(status).toBe(401)
  })

  it('change neither the source that refusals are counted for, nor what the upstream is told', async () => {
    const limited = await startStand({ upstream: upstream.origin, limits: { maxRefusals: 3 } })
    const flood = (i: number) =>
      ask(
        limited.port,
        `GET /files/x HTTP/1.1\r\nhost: gate\r\nconnection: close\r\nx-forwarded-for: 10.0.0.${i}\r\nx-real-ip: 10.0.0.${i}\r\nforwarded: for=10.0.0.${i}\r\n\r\n`,
      )
    for (let i = 0; i < 3; i++) expect((await flood(i)).status).toBe(401)
    expect((await flood(4)).status).toBe(0)
    expect((await limited.capsules()).length).toBe(3)
    const sent = upstream.requests.length
    await ask(
      limited.port,
      `GET /files/known HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${AUTH}x-forwarded-host: evil\r\nx-forwarded-proto: https\r\nx-forwarded-for: 10.9.9.9\r\nforwarded: host=evil\r\n\r\n`,
    )
    expect(upstream.requests.at(sent)?.head).toContain('/files/known')
    expect(upstream.requests.at(sent)?.head).not.toMatch(/forwarded|evil|10\.9/i)
    await limited.close()
  })
})
