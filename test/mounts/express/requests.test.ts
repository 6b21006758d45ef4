import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import fc from 'fast-check'
import { ask, rawClient } from '../proxy/harness.js'
import { type Express, get, JSON_TYPE, post, type Stand, startApp, VERSIONS } from './harness.js'

let stand: Stand
afterEach(() => stand.close())
const problem = (body: Buffer): { code: string } => JSON.parse(body.toString('utf8'))

describe.each(VERSIONS)('%s: the request', (_, made) => {
  const express = made as Express
  const echo = (req: Request, res: Response): unknown =>
    res.json({ body: Buffer.isBuffer(req.body) ? req.body.toString('hex') : (req.body ?? null) })

  it('is refused as the gate’s failure when a body parser came first, and the operator is told why', async () => {
    stand = await startApp((guarded) => {
      const app = express()
      app.use(express.json())
      app.use(guarded)
      app.use(echo)
      return app
    })
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/pay', '{"amount":"5"}', JSON_TYPE)),
    )
    expect(result.status).toBe(503)
    expect(problem(result.body)).toMatchObject({ code: 'body_consumed', dispatched: false })
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.disposition.verdict_class).toBe('engine_failure')
    expect(capsules[0]?.effect).toBeUndefined()
    expect(stand.rig.reports.find(({ event }) => event === 'body_consumed')?.detail).toMatch(
      /a body parser ran before the gate: put the gate before express\.json\(\)/,
    )
  })

  it('is refused the same way when somebody made text of it', async () => {
    stand = await startApp((guarded) => (req, res) => {
      req.setEncoding('utf8')
      guarded(req, res, () => res.end())
    })
    const { capsules } = await stand.after(() => ask(stand.port, post('/run', 'x')))
    expect(capsules[0]?.disposition.verdict_class).toBe('engine_failure')
  })

  it('without a body may meet a parser first', async () => {
    stand = await startApp((guarded) => express().use(express.json(), guarded, echo))
    const { capsules } = await stand.after(() => ask(stand.port, get('/look')))
    expect(capsules[0]?.effect?.status).toBe('confirmed')
  })

  it('reaches the handler as the judged value: JSON parsed, octets otherwise, nothing for nothing', async () => {
    stand = await startApp((guarded) => express().use(guarded, echo))
    const bodies: [string, string, unknown][] = [
      [JSON_TYPE, '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
      ['content-type: application/problem+json\r\n', '"text"', 'text'],
      [JSON_TYPE, '{"a":1,"a":2}', Buffer.from('{"a":1,"a":2}').toString('hex')],
      [JSON_TYPE, 'not json', Buffer.from('not json').toString('hex')],
      ['content-type: text/plain\r\n', '{}', '7b7d'],
      ['', '', null],
    ]
    for (const [headers, body, expected] of bodies) {
      const { result } = await stand.after(() => ask(stand.port, post('/run', body, headers)))
      expect(JSON.parse(result.body.toString())).toEqual({ body: expected })
    }
  })

  it('can be read again by whatever parser stands behind the gate', async () => {
    const parsers: [string, unknown, string, string, unknown][] = [
      ['json', express.json(), JSON_TYPE, '{"amount":"5"}', { amount: '5' }],
      [
        'urlencoded',
        express.urlencoded({ extended: false }),
        'content-type: application/x-www-form-urlencoded\r\n',
        'a=b',
        { a: 'b' },
      ],
      ['text', express.text(), 'content-type: text/plain\r\n', 'plain', 'plain'],
      ['raw', express.raw({ type: '*/*' }), 'content-type: a/b\r\n', '\u0001', '01'],
    ]
    for (const [, parser, headers, body, expected] of parsers) {
      stand = await startApp((guarded) => express().use(guarded, parser as never, echo))
      const { result } = await stand.after(() => ask(stand.port, post('/run', body, headers)))
      expect(JSON.parse(result.body.toString())).toEqual({ body: expected })
      await stand.close()
    }
    stand = await startApp((guarded) => express().use(guarded, express.json({ type: '*/*' }), echo))
    // As JSON it would be refused: an argument in it could not be seen.
    const zipped = gzipSync('{"a":1}')
    const client = await rawClient(stand.port)
    client.send(
      post('/run', '', 'content-type: a/b\r\ncontent-encoding: gzip\r\n').replace(
        'content-length: 0',
        `content-length: ${zipped.length}`,
      ),
    )
    client.send(zipped)
    expect((await client.closed()).toString()).toContain('{"body":{"a":1}}')
  })

  it('goes out as the octets that came in, whatever they are and however they come', async () => {
    stand = await startApp((guarded) => (req, res) => guarded(req, res, () => req.pipe(res)))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { maxLength: 5 }),
        fc.boolean(),
        async (pieces, chunked) => {
          const whole = Buffer.concat(pieces)
          const client = await rawClient(stand.port)
          client.send(
            post('/run', '').replace(
              'content-length: 0',
              chunked ? 'transfer-encoding: chunked' : `content-length: ${whole.length}`,
            ),
          )
          for (const piece of pieces) {
            if (chunked) client.send(`${piece.length.toString(16)}\r\n`)
            client.send(piece)
            if (chunked) client.send('\r\n')
          }
          if (chunked) client.send('0\r\n\r\n')
          const received = await client.closed()
          expect(received.subarray(received.indexOf('\r\n\r\n') + 4).equals(whole)).toBe(true)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('keeps a connection usable, whether or not a handler reads the body again', async () => {
    stand = await startApp((guarded) => express().use(guarded, echo))
    const client = await rawClient(stand.port)
    for (let turn = 1; turn <= 3; turn++) {
      client.send(post('/run', 'abc').replace('connection: close\r\n', ''))
      await client.until((received) => received.toString().split('616263').length === turn + 1)
    }
    client.send(get('/look'))
    expect((await client.closed()).toString().split('HTTP/1.1 200').length).toBe(5)
  })

  it('is matched below the mount point, and guarded routes name their tool', async () => {
    stand = await startApp((guarded) => {
      const app = express()
      app.use('/tools', guarded, echo)
      app.post('/anything/:id', guarded.guard('refund'), echo)
      app.post('/nothing', guarded.guard('no_such_tool'), echo)
      return app
    })
    const amount = (path: string, value: string) =>
      stand.after(() => ask(stand.port, post(path, `{"amount":"${value}"}`, JSON_TYPE)))
    const below = await amount('/tools/pay', '5')
    expect(below.capsules[0]?.effect).toMatchObject({ type: expect.stringContaining('pay') })
    expect((await amount('/tools/pay', '501')).result.status).toBe(403)
    const named = await amount('/anything/7', '5')
    expect(named.capsules[0]?.effect).toMatchObject({ type: expect.stringContaining('refund') })
    expect(problem((await amount('/tools/other', '5')).result.body).code).toBe('tool_unknown')
    expect(problem((await amount('/nothing', '5')).result.body).code).toBe('tool_unknown')
  })

  it('does not reach the handler when it is refused', async () => {
    let reached = 0
    stand = await startApp((guarded) => {
      const app = express()
      app.use(guarded)
      app.use((_req: Request, res: Response) => {
        reached++
        res.end()
      })
      return app
    })
    const refused = [
      post('/pay', '{"amount":"501"}', JSON_TYPE),
      post('/pay', '{"amount":"5"}', JSON_TYPE).replace(/authorization.*\r\n/, ''),
      post('/pay', '{"amount":"5","amount":"6"}', JSON_TYPE),
      post('/unknown', ''),
      post('/./pay', ''),
      post('/run', '', 'content-type: a/b\r\ncontent-type: c/d\r\n'),
    ]
    for (const request of refused) {
      const { result, capsules } = await stand.after(() => ask(stand.port, request))
      expect(result.status).toBeGreaterThanOrEqual(400)
      expect(capsules).toHaveLength(1)
      expect(problem(result.body)).toMatchObject({ dispatched: false })
    }
    expect(reached).toBe(0)
  })

  it('replays a recorded answer for the same Idempotency-Key, without the handler', async () => {
    let reached = 0
    stand = await startApp((guarded) =>
      express().use(guarded, (_req: Request, res: Response) => {
        reached++
        res.status(201).set('x-own', 'yes').json({ reached })
      }),
    )
    const request = post('/pay', '{"amount":"5"}', `${JSON_TYPE}idempotency-key: k1\r\n`)
    const first = await stand.after(() => ask(stand.port, request))
    const again = await ask(stand.port, request)
    expect(again.status).toBe(201)
    expect(again.body.equals(first.result.body)).toBe(true)
    expect(again.headers.get('gate-replayed')).toBe('true')
    expect(again.headers.get('x-own')).toBe('yes')
    expect(again.headers.get('gate-capsule')).toBe(first.capsules[0]?.capsule_id)
    expect(reached).toBe(1)
  })
})
