import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { fixRequestBody } from 'http-proxy-middleware'
import { type GovernedProxy, governedProxy } from '../../../src/express.js'
import {
  answering,
  type Behaviour,
  MISBEHAVIOURS,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { fine, respond } from '../../support/verdict-scenarios.js'
import { ask } from '../proxy/harness.js'
import { express4, JSON_TYPE, post, type Stand, startApp } from './harness.js'

const MANIFEST = `id: com.acme.raw
tools:
  read:
    match: POST /read
    also: {body: any}
    deadlines: {connect_ms: 1000, first_byte_ms: 400, total_ms: 800}
  read_to_close:
    match: POST /close
    also: {body: any}
    close_delimited: accept
    deadlines: {connect_ms: 1000, first_byte_ms: 400, total_ms: 800}
`
let stand: Stand
let upstream: RawUpstream
let proxy: GovernedProxy
let behaviour: Behaviour = () => {}
beforeAll(async () => {
  upstream = await rawUpstream((peer) => behaviour(peer))
  stand = await startApp(
    (_, gate) => {
      proxy = governedProxy({
        gate,
        target: upstream.origin,
        credential: { header: 'X-Key', value: () => 'the-gate-s-own' },
      })
      const app = express()
      app.use('/tools', proxy as never)
      app.use('/parsed', express.json(), proxy as never)
      app.use('/four', express4().use(proxy as never) as never)
      return app
    },
    { manifest: MANIFEST },
  )
})
afterAll(async () => {
  await stand.close()
  await proxy.close()
  await upstream.close()
})
/** Large enough that no kernel takes all of it before the answer comes. */
const LARGE = 'x'.repeat(9_000_000)

describe('a misbehaving upstream, seen through governedProxy', () => {
  it.each(Object.entries(MISBEHAVIOURS))('%s', async (name, { serve, complete }) => {
    behaviour = serve
    const body = name.includes('early') ? LARGE : 'x'
    for (const path of ['/read', '/close']) {
      const { result, capsules } = await stand.after(() =>
        ask(stand.port, post(`/tools${path}`, body)),
      )
      expect(capsules).toHaveLength(1)
      const [capsule] = capsules
      const mayBeComplete =
        complete === 'yes' || (complete === 'if_close_accepted' && path === '/close')
      if (mayBeComplete) {
        expect(capsule?.effect?.status).toMatch(/^(confirmed|failed)$/)
        expect(result.headers.get('gate-verdict')).toBe(capsule?.disposition.verdict_class)
      } else {
        expect(capsule?.effect?.status ?? 'none').toMatch(/^(none|dispatched)$/)
        expect(capsule?.disposition.verdict_class).toMatch(/^(errored|timeout|engine_failure)$/)
        expect([502, 503, 504]).toContain(result.status)
        expect(capsule?.effect?.response_digest).toBeUndefined()
      }
    }
  })
})

describe('what goes out', () => {
  it('is the judged octets below the mount point, the gate’s credential and no agent’s', async () => {
    behaviour = fine
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/tools/read', '{"a": 1.0}', `${JSON_TYPE}cookie: a=b\r\n`)),
    )
    expect(result.status).toBe(200)
    expect(capsules[0]?.effect?.status).toBe('confirmed')
    const { head, body } = upstream.requests.at(-1) ?? { head: '', body: Buffer.alloc(0) }
    expect(head).toMatch(/^POST \/read HTTP\/1\.1\r\n/)
    expect(head).toContain('x-key: the-gate-s-own')
    expect(head).not.toMatch(/authorization|cookie/i)
    expect(body.toString()).toBe('{"a": 1.0}')
  })

  it('is nothing when a body parser came first', async () => {
    behaviour = fine
    const before = upstream.requests.length
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/parsed/read', '{"a":1}', JSON_TYPE)),
    )
    expect(result.status).toBe(503)
    expect(capsules[0]?.disposition.verdict_class).toBe('engine_failure')
    expect(upstream.requests).toHaveLength(before)
  })

  it('works inside Express 4 too', async () => {
    behaviour = fine
    const { capsules } = await stand.after(() => ask(stand.port, post('/four/read', 'x')))
    expect(capsules[0]?.effect?.status).toBe('confirmed')
  })
})

it('a redirect on the upstream leads back to where the proxy is mounted, others lead nowhere', async () => {
  const redirect = (to: string): Behaviour =>
    answering(`HTTP/1.1 302 Found\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`)
  behaviour = redirect(`${upstream.origin}/next?x=1`)
  const own = await stand.after(() => ask(stand.port, post('/tools/read', '')))
  expect(own.result.headers.get('location')).toBe('/tools/next?x=1')
  behaviour = redirect('https://elsewhere.example/')
  const other = await stand.after(() => ask(stand.port, post('/tools/read', '')))
  expect(other.result.headers.get('location')).toBeUndefined()
})

it('large answers stream, with their end behind the capsule', async () => {
  const body = 'y'.repeat(2_000_000)
  behaviour = answering(respond('200 OK', body))
  const { result, capsules } = await stand.after(() => ask(stand.port, post('/tools/read', '')))
  expect(result.body).toHaveLength(body.length)
  expect(capsules[0]?.effect?.status).toBe('confirmed')
})

describe('options that could not be kept are refused at once', () => {
  const make = (more: object) => () =>
    governedProxy({ gate: stand.rig.gate, target: 'http://127.0.0.1:1', ...more })
  it.each([
    ['fixRequestBody', { on: { proxyReq: fixRequestBody } }, /fixRequestBody/],
    ['pathRewrite', { pathRewrite: { '^/a': '' } }, /judged/],
    ['router', { router: () => 'http://x' }, /judged/],
    ['plugins', { plugins: [] }, /observed/],
    ['ws', { ws: true }, /WebSocket/],
    ['selfHandleResponse: false', { selfHandleResponse: false }, /always true/],
    ['secure: false', { secure: false }, /always true/],
    ['a path in the target', { target: 'http://127.0.0.1:1/base' }, /origin/],
    ['proxyTimeout: 0', { proxyTimeout: 0 }, /proxyTimeout/],
    ['a misspelt one', { tarlget: 1 }, /no option/],
  ])('%s', (_, more, why) => {
    expect(make(more)).toThrow(why)
  })
  it('selfHandleResponse: true, changeOrigin: true and secure: true say what is the case', () => {
    expect(make({ selfHandleResponse: true, changeOrigin: true, secure: true })).not.toThrow()
  })
})
