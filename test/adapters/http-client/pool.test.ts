import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  answering,
  type Behaviour,
  type Peer,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request, sent } from './harness.js'

const POOLED = { ...RULE, connection: 'pooled' } as const
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const EVIL = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil'

let server: RawUpstream | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  await upstream?.close()
  await server?.close()
})
async function against(behave: Behaviour): Promise<Upstream> {
  server = await rawUpstream(behave)
  upstream = createUpstream({ name: 'tool', origin: server.origin })
  return upstream
}
async function answerOf(to: Upstream, rule: typeof POOLED | typeof RULE = POOLED): Promise<string> {
  const sink = collector()
  complete(await to.send(request(), rule, sink, ALLOWED))
  return sink.body().toString()
}

/**
 * Does one thing now, and another in the middle of the poll behind the immediates of now: what is
 * written then is not read in that poll any more.
 */
async function nowAndInNextPoll(now: () => void, then: () => void): Promise<void> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const near = connect((listener.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(listener, 'connection')) as [Socket]
  const done = new Promise<void>((resolve) =>
    far.once('data', () => {
      then()
      resolve()
    }),
  )
  now()
  setImmediate(() => near.write('now'))
  await done
  near.destroy()
  far.destroy()
  listener.close()
}

describe('pooled connections', () => {
  it('serve one call after another, and never two at once', async () => {
    const tool = await against(answering(OK))
    for (let i = 0; i < 20; i++) expect(await answerOf(tool)).toBe('ok')
    expect(server?.connections()).toBe(1)
    await Promise.all(Array.from({ length: 8 }, () => answerOf(tool)))
    expect(server?.connections()).toBe(8)
    expect(tool.stats()).toMatchObject({ inFlight: 0, idle: 8, opened: 8 })
  })

  it('fresh: a connection per call, announced as such, and none left', async () => {
    const tool = await against(answering(OK))
    for (let i = 0; i < 3; i++) await answerOf(tool, RULE)
    expect(server?.connections()).toBe(3)
    expect(server?.requests.every(({ head }) => head.includes('connection: close'))).toBe(true)
    expect(tool.stats()).toMatchObject({ idle: 0, reused: 0 })
  })

  it('fresh: does not take a pooled connection at rest', async () => {
    const tool = await against(answering(OK))
    await answerOf(tool)
    await answerOf(tool, RULE)
    expect(server?.connections()).toBe(2)
    expect(tool.stats()).toMatchObject({ idle: 1, reused: 0 })
  })

  it.each([1, 2, 3, 4, 5])(
    'an unasked answer on a resting connection never becomes the next answer (%i)',
    async () => {
      let first: Peer | null = null
      const tool = await against(async (peer) => {
        first ??= peer
        await answering(OK)(peer)
      })
      expect(await answerOf(tool)).toBe('ok')
      // Resolves in the middle of a poll: the client cannot have read these bytes yet.
      await (first as Peer | null)?.write(EVIL)
      expect(await answerOf(tool)).toBe('ok')
      expect(server?.connections()).toBe(2)
      expect(tool.stats().reused).toBe(0)
    },
  )

  it('unasked answers on several, leased in one turn: none of them becomes an answer', async () => {
    const first: Peer[] = []
    const tool = await against(async (peer) => {
      if (peer.index < 4) first.push(peer)
      await answering(OK)(peer)
    })
    await Promise.all(Array.from({ length: 4 }, () => answerOf(tool)))
    // The last write ends in the middle of a poll: the leases share what follows it.
    for (const peer of first) await peer.write(EVIL)
    const answers = await Promise.all(Array.from({ length: 4 }, () => answerOf(tool)))
    expect(answers).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(server?.connections()).toBe(8)
    expect(tool.stats().reused).toBe(0)
  })

  it('a lease asked for between the two turns of another waits for a poll of its own', async () => {
    const peers: Peer[] = []
    const tool = await against(async (peer) => {
      peers.push(peer)
      await answering(OK)(peer)
    })
    await Promise.all([answerOf(tool), answerOf(tool)])
    const answers: Promise<string>[] = []
    const ask = (): void => {
      answers.push(answerOf(tool).catch(() => 'not complete'))
    }
    await nowAndInNextPoll(ask, () => {
      for (const peer of peers) void peer.write(EVIL)
      ask()
    })
    // The first had its poll before these bytes were there; only the second can have seen them.
    const [, late] = await Promise.all(answers)
    expect(late).toBe('ok')
  })

  it.each(['fin', 'reset'] as const)(
    '%s while at rest: the next call opens another',
    async (how) => {
      let first: Peer | null = null
      const tool = await against(async (peer) => {
        first ??= peer
        await answering(OK)(peer)
      })
      await answerOf(tool)
      const peer = first as Peer | null
      peer?.[how]()
      expect(await answerOf(tool)).toBe('ok')
      expect(server?.connections()).toBe(2)
    },
  )

  it.each([
    ['connection: close', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
    ['keep-alive: timeout=1', `HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\n${OK.slice(17)}`],
  ])('%s: complete, but not kept', async (_, bytes) => {
    const tool = await against(answering(bytes))
    await answerOf(tool)
    await answerOf(tool)
    expect(server?.connections()).toBe(2)
    expect(tool.stats().idle).toBe(0)
  })

  it.each([
    ['two answers at once', OK + EVIL],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ['a broken head', 'HTTP/1.1 200 OK\r\nbad header\r\n\r\n'],
  ])('%s: the connection is not used again', async (_, bytes) => {
    const tool = await against(async (peer) => {
      await answering(peer.index === 0 ? bytes : OK)(peer)
    })
    sent(await tool.send(request(), POOLED, collector(), ALLOWED))
    expect(await answerOf(tool)).toBe('ok')
    expect(server?.connections()).toBe(2)
  })

  it('a call that died on a pooled connection is not sent again', async () => {
    const tool = await against(async (peer) => {
      await peer.request()
      await peer.write(OK)
      await peer.request()
      peer.reset()
    })
    await answerOf(tool)
    const seen = sent(await tool.send(request(), POOLED, collector(), ALLOWED))
    expect(seen.cause).toMatch(/before_head$/)
    expect(server?.requests).toHaveLength(2)
    expect(server?.connections()).toBe(1)
  })

  it('close: lets calls under way end, refuses new ones, leaves no connection', async () => {
    let release = (): void => {}
    const tool = await against(async (peer) => {
      await peer.request()
      await new Promise<void>((resolve) => {
        release = resolve
      })
      await peer.write(OK)
    })
    const stillAllowed = (): boolean => true
    const under = tool.send(request(), POOLED, collector(), { stillAllowed })
    while (server?.requests.length !== 1) await new Promise((resolve) => setImmediate(resolve))
    const closed = tool.close()
    expect(await tool.send(request(), POOLED, collector(), ALLOWED)).toEqual({
      kind: 'not_sent',
      cause: 'upstream_closed',
      deadline: false,
    })
    release()
    complete(await under)
    await closed
    expect(tool.stats()).toMatchObject({ inFlight: 0, idle: 0 })
  })
})
