import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import type { Call } from '../../../src/core/call/call.js'
import { type GovernedProxy, governedProxy, gate as guarding } from '../../../src/express.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { ask } from '../proxy/harness.js'
import { AUTH, get, JSON_TYPE, post, type Stand, startApp } from './harness.js'

/** What an agent declares to an application that has the gate inside. */
const seen: Call[] = []
let upstream: RawUpstream
let proxy: GovernedProxy
let stand: Stand
let ran: string[] = []
beforeAll(async () => {
  upstream = await rawUpstream(
    answering('HTTP/1.1 200 OK\r\nlocation: other\r\ncontent-length: 2\r\n\r\nok'),
  )
  stand = await startApp((_, running) => {
    const gate: typeof running = {
      ...running,
      govern: (call, ...rest) => {
        seen.push(call)
        return running.govern(call, ...rest)
      },
    }
    proxy = governedProxy({ gate, target: upstream.origin })
    const app = express()
    app.use('/tools/kept', (_, res) => void res.status(403).end('not for agents'))
    app.use('/tools', proxy as never)
    app.use('/app', guarding(gate) as never, (req, res) => {
      ran.push(req.url)
      res.end('done')
    })
    return app
  })
})
afterAll(async () => {
  await stand.close()
  await proxy.close()
  await upstream.close()
})
beforeEach(() => {
  seen.length = 0
  ran = []
  upstream.requests.length = 0
})
const INTENT = '{ "a":1 }'
const HEAD = `agent-intent: ${Buffer.from(INTENT).toString('base64url')}\r\nagent-mandate: m.m.m\r\n`
const carried = { kind: 'carried', intent: new Uint8Array(Buffer.from(INTENT)), mandate: 'm.m.m' }
const code = (body: Buffer): unknown => JSON.parse(body.toString()).code

describe.each(['/tools', '/app'])('behind %s', (mount) => {
  it('a head declares, and one that declares nothing leaves nothing', async () => {
    expect((await ask(stand.port, get(`${mount}/look`, HEAD))).status).toBe(200)
    expect((await ask(stand.port, get(`${mount}/look`))).status).toBe(200)
    expect(seen.map(({ declared }) => declared)).toEqual([carried, undefined])
    expect(seen[1]).not.toHaveProperty('declared')
    for (const { head } of upstream.requests) expect(head).not.toMatch(/agent-|m\.m\.m/i)
  })

  it.each(['agent-intent', 'agent-mandate'])('%s twice is refused and recorded', async (name) => {
    const twice = `${name}: e30\r\n${name}: e30\r\n`
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, get(`${mount}/look`, twice)),
    )
    expect([result.status, code(result.body)]).toEqual([400, 'request_malformed'])
    expect(capsules).toHaveLength(1)
    expect([ran, upstream.requests]).toEqual([[], []])
  })
})

const transition = (mount: string, request: object, headers = ''): string =>
  post(
    `${mount}/.gate/v1/transition`,
    `{"intent":${INTENT},"mandate":"m.m.m","request":${JSON.stringify(request)}}`,
    JSON_TYPE + headers,
  )

describe('a transition', () => {
  const pay = { method: 'POST', target: '/pay', body: { amount: '5' } }

  it.each(['/app', '/tools'])(
    'below %s cannot be made, and the answer says what to do instead',
    async (mount) => {
      const answer = await ask(stand.port, transition(mount, pay))
      expect(answer.status).toBe(501)
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        code: 'transition_not_here',
        dispatched: false,
        detail: expect.stringContaining('Agent-Intent'),
      })
      expect([seen, ran, upstream.requests]).toEqual([[], [], []])
    },
  )

  it('passes by nothing that the application keeps from agents by its path', async () => {
    expect((await ask(stand.port, post('/tools/kept', '{}', JSON_TYPE))).status).toBe(403)
    const kept = { method: 'POST', target: '/kept', body: {} }
    expect((await ask(stand.port, transition('/tools', kept))).status).toBe(501)
    expect(upstream.requests).toEqual([])
  })

  it('of an unknown caller is refused as one, and recorded', async () => {
    for (const mount of ['/tools', '/app']) {
      const request = transition(mount, pay).replace(AUTH, '')
      const { result, capsules } = await stand.after(() => ask(stand.port, request))
      expect(result.status).toBe(401)
      expect(capsules).toHaveLength(1)
    }
  })
})
