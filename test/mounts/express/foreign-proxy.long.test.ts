import { createServer, get as httpGet, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { createProxyMiddleware, fixRequestBody, responseInterceptor } from 'http-proxy-middleware'
import { type AppHandler, gate } from '../../../src/express.js'
import {
  type Behaviour,
  MISBEHAVIOURS,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { fine, respond } from '../../support/verdict-scenarios.js'
import { ask } from '../proxy/harness.js'
import { JSON_TYPE, post, type Stand, startApp } from './harness.js'

/** A proxy of somebody else's behind the gate: what it says is its word, whatever its upstream did. */
const MANIFEST = `id: com.acme.foreign
tools:
  run:
    match: POST /run
    also: {body: any}
    deadlines: {connect_ms: 400, first_byte_ms: 400, total_ms: 600}
`
let upstream: RawUpstream
let behaviour: Behaviour = fine
let stand: Stand
beforeAll(async () => {
  upstream = await rawUpstream((peer) => behaviour(peer))
})
afterAll(() => upstream.close())
afterEach(() => stand.close())

const PROXIES: Readonly<Record<string, (target: string) => AppHandler>> = {
  'http-proxy-middleware': (target) => createProxyMiddleware({ target }) as AppHandler,
  'http-proxy-middleware with fixRequestBody': (target) =>
    createProxyMiddleware({ target, on: { proxyReq: fixRequestBody } }) as AppHandler,
  'http-proxy-middleware with responseInterceptor': (target) =>
    createProxyMiddleware({
      target,
      selfHandleResponse: true,
      on: { proxyRes: responseInterceptor(async (body) => body) },
    }) as AppHandler,
  'a proxy by hand, through a transform': (target) => (req, res) => {
    const out = httpRequest(`${target}${req.url}`, { method: 'POST', agent: false }, (answer) => {
      res.statusCode = answer.statusCode ?? 502
      answer.pipe(new Transform({ transform: (chunk, _, done) => done(null, chunk) })).pipe(res)
    })
    out.on('error', () => res.writeHead(502).end())
    out.end(JSON.stringify(req.body))
  },
}
const guarded = (make: (target: string) => AppHandler): Promise<Stand> =>
  startApp((through) => express().use(through as never, make(upstream.origin) as never), {
    manifest: MANIFEST,
  })

describe.each(Object.entries(PROXIES))('%s behind the gate', (_, make) => {
  it('passes the answer on and claims it', async () => {
    behaviour = fine
    stand = await guarded(make)
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/run', '{"a":1}', JSON_TYPE)),
    )
    expect(result.status).toBe(200)
    expect(result.body.toString()).toContain('"state":"done"')
    expect(upstream.requests.at(-1)?.body.toString()).toBe('{"a":1}')
    expect(capsules[0]?.disposition.verdict_class).toBe('executed')
    expect(capsules[0]?.effect).toMatchObject({
      status: 'dispatched',
      effect_attestation: 'runtime_claimed',
    })
    expect(capsules[0]?.effect?.response_digest).toBeUndefined()
  })

  it('a server error is its own report of failure', async () => {
    behaviour = async (peer) => {
      await peer.request()
      await peer.write(respond('500 Oops', '{}'))
    }
    stand = await guarded(make)
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/run', '{}', JSON_TYPE)),
    )
    expect(capsules[0]?.disposition.verdict_class).toBe('errored')
    expect(capsules[0]?.effect?.status).not.toBe('confirmed')
    expect(result.status).toBe(502)
  })

  it.each([
    'FIN in a fixed body',
    'RST in a chunk',
    'FIN before the zero chunk',
    'RST after the head',
    'close-delimited body, then RST',
    'two answers at once',
    'Content-Length one too short',
    'never ends the body',
  ] as const)('%s: never confirmed', async (name) => {
    behaviour = MISBEHAVIOURS[name].serve
    stand = await guarded(make)
    const { capsules } = await stand.after(() => ask(stand.port, post('/run', '{}', JSON_TYPE)))
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.effect?.status).toMatch(/^(dispatched|failed)$/)
    expect(capsules[0]?.effect?.response_digest).toBeUndefined()
  })
})

it('a handler that asks elsewhere and then answers for itself is no proxy', async () => {
  const other: Server = createServer((_, res) => res.end('rate: 7'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  stand = await startApp(
    (through) => (req, res) =>
      through(req, res, () =>
        httpGet({ port: (other.address() as AddressInfo).port }, (answer) => {
          answer.resume().on('end', () => res.end('my own words'))
        }),
      ),
  )
  const { capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
  expect(capsules[0]?.effect?.status).toBe('confirmed')
  other.close()
})

it('`answers: own` does not lift what is plainly another message', async () => {
  behaviour = fine
  stand = await startApp(
    (_, running) =>
      express().use(
        gate(running, { answers: 'own' }) as never,
        createProxyMiddleware({ target: upstream.origin }) as never,
      ),
    { manifest: MANIFEST },
  )
  const { capsules } = await stand.after(() => ask(stand.port, post('/run', '{}', JSON_TYPE)))
  expect(capsules[0]?.effect?.status).toBe('dispatched')
})
