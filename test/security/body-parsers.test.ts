import { afterEach, describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { governedProxy } from '../../src/express.js'
import {
  type Express,
  get,
  JSON_TYPE,
  post,
  type Stand,
  startApp,
  VERSIONS,
} from '../mounts/express/harness.js'
import { ask } from '../mounts/proxy/harness.js'
import { answering, rawUpstream } from '../support/raw-upstream.js'

/** A body parser in front of the gate: a mistake of the application that no retry mends. */
let stand: Stand
afterEach(() => stand.close())
const told = (body: Buffer): Record<string, string> => JSON.parse(body.toString('utf8'))

describe.each(VERSIONS)('%s', (_, made) => {
  const express = made as Express
  const parsers = {
    'express.json()': express.json(),
    'express.urlencoded()': express.urlencoded({ extended: true }),
    'express.raw()': express.raw({ type: () => true }),
    'express.text()': express.text({ type: () => true }),
  }
  const behind = (parser: ReturnType<Express['json']>) =>
    startApp((guarded) =>
      express()
        .use(parser)
        .use(guarded)
        .use((req: Request, res: Response) => res.json({ method: req.method })),
    )

  it.each(Object.entries(parsers))(
    '%s before the gate: 503 body_consumed, named in answer and report',
    async (name, parser) => {
      stand = await behind(parser)
      const type =
        name === 'express.urlencoded()'
          ? 'content-type: application/x-www-form-urlencoded\r\n'
          : JSON_TYPE
      const { result, capsules } = await stand.after(() =>
        ask(stand.port, post('/pay', '{"amount":"5"}', type)),
      )
      expect(result.status).toBe(503)
      const problem = told(result.body)
      expect(problem).toMatchObject({ code: 'body_consumed', dispatched: false })
      expect(problem.detail).toContain('put the gate before the body parser')
      expect(problem.detail).not.toContain('safe to try again')
      expect(capsules.map(({ disposition }) => disposition.verdict_class)).toEqual([
        'engine_failure',
      ])
      expect(stand.rig.reports.find(({ event }) => event === 'body_consumed')).toMatchObject({
        level: 'error',
        detail: expect.stringContaining('a body parser ran before the gate'),
      })
    },
  )

  it('a request without a body goes through behind express.json()', async () => {
    stand = await behind(express.json())
    const { result, capsules } = await stand.after(() => ask(stand.port, get('/look', JSON_TYPE)))
    expect(result.status).toBe(200)
    expect(capsules[0]?.effect?.status).toBe('confirmed')
    const empty = await stand.after(() => ask(stand.port, post('/run', '', JSON_TYPE)))
    expect(empty.result.status).toBe(200)
  })

  it('governedProxy says the same, and nothing reaches the upstream', async () => {
    const upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    stand = await startApp((_guarded, gate) =>
      express()
        .use(express.json())
        .use(governedProxy({ gate, target: upstream.origin }) as never),
    )
    const { result } = await stand.after(() =>
      ask(stand.port, post('/pay', '{"amount":"5"}', JSON_TYPE)),
    )
    expect(told(result.body)).toMatchObject({ status: 503, code: 'body_consumed' })
    expect(upstream.requests).toHaveLength(0)
    await upstream.close()
  })
})
