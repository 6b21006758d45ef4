import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeHashing } from '../../../src/adapters/http-client/hashing.js'
import { gate } from '../../../src/express.js'
import { type HandlerEnd, intercept } from '../../../src/mounts/express/intercept.js'
import { ask, parseAnswer, rawClient } from '../proxy/harness.js'
import { get, post, type Stand, startApp } from './harness.js'

const sha256 = (octets: Uint8Array): string => createHash('sha256').update(octets).digest('hex')
let stand: Stand
afterEach(() => stand?.close())

describe('whatever a handler writes, in whatever pieces', () => {
  it('the client gets those octets, the record their digest, and the end comes last', async () => {
    let script: { pieces: Uint8Array[]; declare: boolean; head: boolean; slow: boolean }
    stand = await startApp((_, running) => {
      // Small, so that answers fall on both sides of it.
      const guarded = gate(running, { holdBytes: 2_000 })
      return (req, res) =>
        guarded(req, res, async () => {
          const { pieces, declare, head, slow } = script
          const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
          if (declare) res.setHeader('content-length', length)
          if (head) res.writeHead(200)
          for (const piece of pieces) {
            res.write(piece)
            if (slow) await new Promise((resolve) => setImmediate(resolve))
          }
          res.end()
        })
    })
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          pieces: fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 4 }),
          declare: fc.boolean(),
          head: fc.boolean(),
          slow: fc.boolean(),
        }),
        async (given) => {
          script = given
          const whole = Buffer.concat(given.pieces)
          const { result, capsules } = await stand.after(() => ask(stand.port, get('/look')))
          expect(result.status).toBe(200)
          expect(result.body.equals(whole)).toBe(true)
          expect(capsules[0]?.effect?.status).toBe('confirmed')
          expect(capsules[0]?.effect?.['dev.capsulegate.response_octets']).toMatchObject({
            digest: sha256(whole),
            length: whole.length,
          })
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('requests on one connection', () => {
  it('pipelined ones are answered in order, each with its own capsule', async () => {
    const order: string[] = []
    let second: () => void = () => undefined
    const secondRan = new Promise<void>((resolve) => {
      second = resolve
    })
    stand = await startApp(
      (guarded) => (req, res) =>
        guarded(req, res, async () => {
          const { body } = req as unknown as { body: Buffer }
          if (String(body) === 'first') await secondRan
          order.push(String(body))
          res.end(`answer to ${String(body)}`)
          if (String(body) === 'second') second()
        }),
    )
    const { result, capsules } = await stand.after(async () => {
      const client = await rawClient(stand.port)
      const keep = post('/run', 'first').replace('connection: close\r\n', '')
      client.send(`${keep}${post('/run', 'second')}`)
      return (await client.closed()).toString('latin1')
    }, 2)
    expect(order).toEqual(['second', 'first'])
    expect(result.indexOf('answer to first')).toBeLessThan(result.indexOf('answer to second'))
    expect(capsules.map(({ effect }) => effect?.status)).toEqual(['confirmed', 'confirmed'])
    for (const { capsule_id } of capsules) expect(result).toContain(capsule_id)
  })
})

describe('other middleware that has its hands on the response', () => {
  /** As session stores do: the end waits for something, then Node's own end runs. */
  const delaysEnd = (res: ServerResponse): void => {
    const { end } = res
    res.end = ((...args: unknown[]) => {
      setImmediate(() => Reflect.apply(end, res, args))
      return res
    }) as ServerResponse['end']
  }
  /** As header hooks do: a last word when the head is made. */
  const addsHeader = (res: ServerResponse): void => {
    const { writeHead } = res
    res.writeHead = ((...args: unknown[]) => {
      res.setHeader('x-hook', 'was here')
      return Reflect.apply(writeHead, res, args)
    }) as ServerResponse['writeHead']
  }
  /** As compression does: writes go through it, implied heads included. */
  const shouts = (res: ServerResponse): void => {
    const { write, end } = res
    const loud = (chunk: unknown): unknown =>
      typeof chunk === 'string' ? chunk.toUpperCase() : chunk
    res.write = ((chunk: unknown, ...rest: unknown[]) => {
      if (!res.headersSent) (res as unknown as { _implicitHeader(): void })._implicitHeader()
      return Reflect.apply(write, res, [loud(chunk), ...rest])
    }) as ServerResponse['write']
    res.end = ((chunk: unknown, ...rest: unknown[]) => {
      if (!res.headersSent) (res as unknown as { _implicitHeader(): void })._implicitHeader()
      return Reflect.apply(end, res, [loud(chunk), ...rest])
    }) as ServerResponse['end']
  }

  it.each([
    ['an end that waits', delaysEnd, 'one two'],
    ['a header hook', addsHeader, 'one two'],
    ['a transformer', shouts, 'ONE TWO'],
  ])('%s works before the gate and behind it', async (name, hook, behind) => {
    for (const first of ['before', 'behind']) {
      stand = await startApp((guarded) => (req, res) => {
        if (first === 'before') hook(res)
        guarded(req, res, () => {
          if (first === 'behind') hook(res)
          res.write('one ')
          res.end('two')
        })
      })
      const { result, capsules } = await stand.after(() => ask(stand.port, get('/look')))
      const observed = first === 'behind' ? behind : 'one two'
      expect(result.status).toBe(200)
      expect(result.headers.get('gate-verdict')).toBe('executed')
      expect(capsules[0]?.effect?.['dev.capsulegate.response_octets']?.digest).toBe(
        sha256(Buffer.from(observed)),
      )
      expect(result.body.toString().toLowerCase()).toBe('one two')
      if (name === 'a header hook') expect(result.headers.get('x-hook')).toBe('was here')
      await stand.close()
    }
  })
})

const PIECE = Buffer.alloc(1024 * 1024)
async function awaitingDrain(res: ServerResponse): Promise<void> {
  for (let i = 0; i < 30; i++) {
    if (!res.write(PIECE)) await new Promise((resolve) => res.once('drain', resolve))
  }
  res.end()
}
async function writingOnDrain(res: ServerResponse): Promise<void> {
  let written = 0
  const more = (): void => {
    while (written < 30) {
      written++
      if (!res.write(PIECE)) return
    }
    res.off('drain', more).end()
  }
  res.on('drain', more)
  more()
}

it.each([
  ['waits for each drain', awaitingDrain],
  ['writes from its drain listener', writingOnDrain],
])(
  'a client that takes nothing is given up, and a handler that %s is observed to its end',
  async (_, write) => {
    let end: HandlerEnd | null = null
    let over: () => void = () => undefined
    const isOver = new Promise<void>((resolve) => {
      over = resolve
    })
    const server = createServer(async (req, res) => {
      const intercepted = intercept(req, res, {
        hold: { limit: 1, beyond: 'stream', room: null },
        jsonLimit: 1,
        wantsTrailers: false,
        stallMs: 50,
        hashing: nodeHashing,
        salted: null,
        answeredTwice: () => undefined,
      })
      await write(res)
      end = await intercepted.over
      intercepted.release({ actionId: 'a', capsuleId: 'c', verdict: 'executed' })
      over()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = await rawClient((server.address() as AddressInfo).port)
    client.socket.pause()
    client.send(get('/'))
    await isOver
    expect(end).toMatchObject({ kind: 'ended', body: { length: 30 * 1024 * 1024 } })
    client.socket.resume()
    const received = await client.closed()
    expect(parseAnswer(received).body.length).toBeLessThan(30 * 1024 * 1024)
    server.close()
  },
)
