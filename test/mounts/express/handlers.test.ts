import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { NextFunction, Request, Response } from 'express'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { ask, rawClient } from '../proxy/harness.js'
import { type Express, get, post, type Stand, startApp, VERSIONS } from './harness.js'

let stand: Stand
afterEach(() => stand.close())
const verdict = ([capsule]: Capsule[]): string =>
  `${capsule?.disposition.verdict_class} ${capsule?.effect?.status ?? 'none'}`
const bare = (answer: (res: ServerResponse) => unknown): Promise<Stand> =>
  startApp((guarded) => (req, res) => guarded(req, res, () => void answer(res)))

describe.each(VERSIONS)('%s: handlers that misbehave are recorded as what they did', (_, made) => {
  const express = made as Express
  const app = (...handlers: ((req: Request, res: Response, next: NextFunction) => unknown)[]) =>
    startApp((guarded) => {
      const built = express()
      // The default error handler prints stacks; nobody reads them here.
      built.set('env', 'test')
      return built.use(guarded, ...handlers)
    })

  it('throws before it answers: the application’s error page is a tool’s server error', async () => {
    stand = await app(() => {
      throw new Error('boom')
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', 'x')))
    expect(verdict(capsules)).toBe('errored failed')
    expect(result.status).toBe(500)
  })

  it('passes an error on after it began to answer: cut, outcome unknown', async () => {
    stand = await app((_req, res, next) => {
      res.write('half')
      next(new Error('boom'))
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
    expect(result.text).not.toContain('half')
  })

  it('never answers: the deadline, and what it says later reaches nobody', async () => {
    let late: (() => void) | null = null
    stand = await app((_req, res) => {
      late = () => {
        res.end('late')
      }
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/impatient', '')))
    expect(verdict(capsules)).toBe('timeout dispatched')
    expect(result.status).toBe(504)
    expect(() => (late as unknown as () => void)()).not.toThrow()
    expect(await stand.rig.capsules()).toHaveLength(1)
  })

  it('begins to answer and never ends: the deadline, and nothing of it goes out', async () => {
    stand = await app((_req, res) => res.set('x-own', '1').status(201).write('half'))
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/impatient', '')))
    expect(verdict(capsules)).toBe('timeout dispatched')
    expect(result.status).toBe(504)
    expect(result.text).not.toContain('half')
    expect(result.headers.get('x-own')).toBeUndefined()
  })

  it('answers twice: the first answer stands, once, and the operator hears of it', async () => {
    stand = await app((_req, res) => {
      res.json({ first: true })
      res.status(500).json({ second: true })
      res.write('third')
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('executed confirmed')
    expect(result.body.toString()).toBe('{"first":true}')
    expect(result.status).toBe(200)
    expect(stand.rig.reports.filter(({ event }) => event === 'answered_twice')).toHaveLength(1)
    expect(await stand.rig.capsules()).toHaveLength(1)
  })

  it.each([
    ['its response', (_req: Request, res: Response) => res.destroy()],
    ['its socket', (req: Request) => req.socket.destroy()],
    [
      'its socket in the middle',
      (req: Request, res: Response) => {
        res.write('half')
        req.socket.destroy()
      },
    ],
  ])('destroys %s: outcome unknown, at once', async (_what, handler) => {
    stand = await app(handler)
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
    expect(result.text).toBe('')
  })

  it('nobody behind the gate: the application’s 404 is a clean failure', async () => {
    stand = await app()
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', 'x')))
    expect(verdict(capsules)).toBe('executed failed')
    expect(result.status).toBe(404)
  })
})

describe('answers that are not what they say', () => {
  it.each([
    ['shorter than declared', 10, '12345'],
    ['longer than declared', 3, '12345'],
  ])('%s: never confirmed', async (_, length, body) => {
    stand = await bare((res) => {
      res.setHeader('content-length', length)
      res.end(body)
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
    expect(result.status).toBe(502)
  })

  it.each([
    ['shorter', 3_000_000],
    ['longer', 1_500_000],
  ])('streamed and %s than declared: the client sees it cut', async (_, length) => {
    stand = await bare((res) => {
      res.setHeader('content-length', length)
      res.end(Buffer.alloc(2_000_000))
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
    expect(result.body.length).toBeLessThan(length)
  })

  it('written around the gate with Node’s own methods: not observed, so not confirmed', async () => {
    stand = await bare((res) => {
      const prototype = Object.getPrototypeOf(res) as ServerResponse
      prototype.write.call(res, 'smuggled', 'utf8')
      res.end()
    })
    const { capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
  })

  it('a router that lets errors through: the run failed', async () => {
    stand = await bare(() => {
      throw new Error('boom')
    })
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(capsules[0]?.disposition.verdict_class).toBe('errored')
    expect(capsules[0]?.effect?.status).not.toBe('confirmed')
    expect(result.status).toBe(502)
  })
})

it('an answer that must be held and is longer than anything may be is recorded, not delivered', async () => {
  stand = await bare((res) => {
    for (let i = 0; i < 65; i++) res.write(Buffer.alloc(1024 * 1024))
    res.end()
  })
  const { result, capsules } = await stand.after(async () => {
    const client = await rawClient(stand.port)
    client.send(get('/whole'))
    return client.closed()
  })
  expect(result).toHaveLength(0)
  expect(verdict(capsules)).toBe('executed confirmed')
})

describe('a client that goes away', () => {
  it('does not stop the observing: what the handler then says is recorded', async () => {
    let running: () => void = () => undefined
    let left: () => void = () => undefined
    const isRunning = new Promise<void>((resolve) => {
      running = resolve
    })
    const hasLeft = new Promise<void>((resolve) => {
      left = resolve
    })
    const told: string[] = []
    stand = await bare(async (res) => {
      res.on('close', () => told.push('close'))
      res.req.socket.on('close', left)
      running()
      await hasLeft
      await new Promise((resolve) => setImmediate(resolve))
      told.push('answers')
      res.end('nobody listens')
    })
    const { capsules } = await stand.after(async () => {
      const client = await rawClient(stand.port)
      client.send(post('/run', ''))
      await isRunning
      client.socket.destroy()
    })
    expect(verdict(capsules)).toBe('executed confirmed')
    expect(told).toEqual(['answers', 'close'])
  })

  it('lets a large answer run to its end for the record', async () => {
    let waits: () => void = () => undefined
    const isWaiting = new Promise<void>((resolve) => {
      waits = resolve
    })
    const piece = Buffer.alloc(256 * 1024)
    stand = await bare(async (res) => {
      for (let i = 0; i < 40; i++) {
        if (res.write(piece)) continue
        waits()
        await new Promise((resolve) => res.once('drain', resolve))
      }
      res.end()
    })
    const { capsules } = await stand.after(async () => {
      const client = await rawClient(stand.port)
      client.socket.pause()
      client.send(get('/look'))
      await isWaiting
      client.socket.destroy()
    })
    expect(verdict(capsules)).toBe('executed confirmed')
    expect(capsules[0]?.effect?.['dev.capsulegate.response_octets']?.length).toBe(40 * piece.length)
  })

  it('ends an event stream, recorded as cut', async () => {
    stand = await bare((res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n')
    })
    const { capsules } = await stand.after(async () => {
      const client = await rawClient(stand.port)
      client.send(get('/look'))
      await client.until((received) => received.includes('data: 1'))
      client.socket.destroy()
    })
    expect(verdict(capsules)).toBe('errored dispatched')
  })
})
