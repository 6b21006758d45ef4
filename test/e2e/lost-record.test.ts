import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import { governedProxy, gate as guard } from '../../src/express.js'
import { gatedFetch } from '../../src/mounts/function/fetch.js'
import { GateRefusal, wrap } from '../../src/mounts/function/wrap.js'
import { DEFAULT_LIMITS } from '../../src/mounts/proxy/options.js'
import { createProxy } from '../../src/mounts/proxy/server.js'
import { rawClient } from '../mounts/proxy/harness.js'
import { listen } from '../support/listen.js'
import { rawUpstream } from '../support/raw-upstream.js'
import { type Rig, rig, TOKEN } from '../support/rig.js'

/**
 * The record of an answer that has begun to stream cannot be written: the client must see that the answer
 * is not whole (DESIGN §2.1, §3 "Release"). The fault is the disk's: once the tool was reached, every sync
 * of a store fails as on a failing device, below the port. An answer that is not kept brings no evidence
 * with its end, so for streams the store is the journal; one that is kept for its key loses either.
 */
const MANIFEST = `id: com.acme.streams
tools:
  stream: {match: 'GET /stream', connection: pooled}
  count: {args: {n: integer}}
`
const POLICIES = `@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`

const BIG = 'y'.repeat(2 * 1024 * 1024)
const EVENT = 'data: 1\n\n'
type Framing = 'a sized body' | 'chunks' | 'chunks with trailers' | 'an event stream'
const FRAMINGS: readonly Framing[] = [
  'a sized body',
  'chunks',
  'chunks with trailers',
  'an event stream',
]
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n'
/** What a tool says at once, and how it ends when the client has seen something of that. */
const WIRE: Record<Framing, readonly [string, string]> = {
  'a sized body': [`HTTP/1.1 200 OK\r\ncontent-length: ${BIG.length + 3}\r\n\r\n${BIG}`, 'end'],
  chunks: [`${CHUNKED}\r\n${chunk(BIG)}`, `${chunk('end')}0\r\n\r\n`],
  'chunks with trailers': [
    `${CHUNKED}trailer: x-sum\r\n\r\n${chunk(BIG)}`,
    `${chunk('end')}0\r\nx-sum: 7\r\n\r\n`,
  ],
  'an event stream': [
    `${CHUNKED}content-type: text/event-stream\r\n\r\n${chunk(EVENT)}`,
    `${chunk(EVENT)}0\r\n\r\n`,
  ],
}

type Store = 'journal' | 'evidence'
let at: Rig
let reached: () => void = () => undefined
/** The client has seen a part of the answer. */
let begun: Promise<void>
let begin: () => void = () => undefined
const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const { close } of opened.splice(0).reverse()) await close()
})

/** A gate one of whose stores cannot be synced from the moment the tool is reached. */
async function start(lost: Store | null): Promise<void> {
  let failing = false
  begun = new Promise((resolve) => {
    begin = resolve
  })
  reached = () => {
    failing = true
  }
  const fail = (store: Store) => (): void => {
    if (failing && store === lost) throw new Error('EIO: i/o error, fdatasync')
  }
  at = await rig({
    manifest: MANIFEST,
    policies: POLICIES,
    recorder: {
      in: 'this_thread',
      journalSeams: { before_sync: fail('journal') },
      evidenceSeams: { before_evidence_sync: fail('evidence') },
    },
  })
  opened.push({ close: () => at.close() })
}

/** What a client was given, and whether it takes that for a whole answer. */
type Seen = { readonly status: number; readonly text: string; readonly whole: boolean }
type Mount = (framing: Framing) => Promise<Seen>

async function upstreamFor(framing: Framing): Promise<string> {
  const server = await rawUpstream(async (peer) => {
    await peer.request()
    reached()
    await peer.write(WIRE[framing][0])
    await begun
    await peer.write(WIRE[framing][1])
  })
  opened.push(server)
  return server.origin
}

async function throughProxy(framing: Framing): Promise<Seen> {
  const origin = await upstreamFor(framing)
  const upstream = createUpstream({ name: 'default', origin })
  const proxy = createProxy({
    gate: at.gate,
    upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
    passThrough: [],
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => undefined,
  })
  opened.push(upstream, { close: () => proxy.close(0) })
  return askOver((await proxy.listen(0, '127.0.0.1')).port, framing)
}

async function throughGovernedProxy(framing: Framing): Promise<Seen> {
  const proxy = governedProxy({ gate: at.gate, target: await upstreamFor(framing) })
  const { port, close } = await listen(express().use(proxy as never))
  opened.push(proxy, { close })
  return askOver(port, framing)
}

async function throughMiddleware(framing: Framing): Promise<Seen> {
  const handler = (_req: unknown, res: ServerResponse): void => {
    reached()
    if (framing === 'a sized body') res.setHeader('content-length', BIG.length + 3)
    if (framing === 'an event stream') res.setHeader('content-type', 'text/event-stream')
    if (framing === 'chunks with trailers') res.setHeader('trailer', 'x-sum')
    res.write(framing === 'an event stream' ? EVENT : BIG)
    void begun.then(() => {
      if (framing === 'chunks with trailers') res.addTrailers({ 'x-sum': '7' })
      res.end(framing === 'an event stream' ? EVENT : 'end')
    })
  }
  const { port, close } = await listen(express().use(guard(at.gate) as never, handler as never))
  opened.push({ close })
  return askOver(port, framing)
}

async function throughFetch(framing: Framing): Promise<Seen> {
  const origin = await upstreamFor(framing)
  const upstream = createUpstream({ name: 'default', origin })
  opened.push(upstream)
  const fetch = gatedFetch(at.gate, {
    upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
    holdBytes: DEFAULT_LIMITS.holdLimit,
  })
  const response = await fetch(`${origin}/stream`, { agent: 'support-bot' })
  const { status } = response
  begin()
  let text = ''
  try {
    for await (const piece of response.body ?? []) text += Buffer.from(piece).toString('latin1')
    return { status, text, whole: true }
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return { status, text, whole: false }
  }
}

/** The octets on the wire up to the close, judged by the framing that they announce themselves. */
async function askOver(port: number, framing: Framing, fields = ''): Promise<Seen> {
  const client = await rawClient(port)
  const trailers = framing === 'chunks with trailers' ? 'te: trailers\r\n' : ''
  client.send(
    `GET /stream HTTP/1.1\r\nhost: gate\r\nconnection: close\r\nauthorization: Bearer ${TOKEN}\r\n${trailers}${fields}\r\n`,
  )
  await client.until((received) => received.length > 0)
  begin()
  const text = (await client.closed()).toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const [head, body] = [text.slice(0, end).toLowerCase(), text.slice(end + 4)]
  const declared = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  const whole = head.includes('\r\ntransfer-encoding: chunked')
    ? /(^|\r\n)0\r\n([^\r\n]+\r\n)*\r\n$/.test(body)
    : declared !== undefined && body.length === Number(declared)
  return { status: Number(head.split(' ')[1]), text, whole }
}

const MOUNTS: Record<string, Mount> = {
  'the proxy': throughProxy,
  governedProxy: throughGovernedProxy,
  'Express middleware': throughMiddleware,
  'the gated fetch': throughFetch,
}
const CASES = Object.entries(MOUNTS).flatMap(([name, mount]) =>
  FRAMINGS.map((framing) => [name, framing, mount] as const),
)

describe.each(CASES)('through %s, %s', (_, framing, mount) => {
  it('is whole when its record is', async () => {
    await start(null)
    expect(await mount(framing)).toMatchObject({ status: 200, whole: true })
    expect(await at.capsules()).toHaveLength(1)
  })

  it('is visibly cut when its record is lost', async () => {
    await start('journal')
    const seen = await mount(framing)
    // It had begun: this is no refusal, and neither end nor capsule is told.
    expect(seen.status).toBe(200)
    expect(seen.text.length).toBeGreaterThan(0)
    expect(seen.whole).toBe(false)
    expect(seen.text.toLowerCase()).not.toContain('gate-capsule:')
    expect(await at.capsules()).toEqual([])
    // The next start concludes it.
    at = await at.restart({ recorder: { in: 'this_thread' } })
    const [recovered, ...more] = await at.capsules()
    expect(recovered?.capsule).toMatchObject({
      disposition: { verdict_class: 'errored' },
      effect: { status: 'dispatched' },
    })
    expect(more).toEqual([])
  })
})

it.each<Store>(['journal', 'evidence'])(
  'nothing of an answer that is kept for its key is given when the %s is lost',
  async (lost) => {
    await start(lost)
    const server = await rawUpstream(async (peer) => {
      await peer.request()
      reached()
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\nx-told: tool\r\n\r\nthe value')
    })
    const proxy = governedProxy({ gate: at.gate, target: server.origin })
    const { port, close } = await listen(express().use(proxy as never))
    opened.push(server, proxy, { close })
    const { status, text } = await askOver(port, 'a sized body', 'idempotency-key: k-1\r\n')
    expect(status).toBe(502)
    expect(text).toContain('record_lost')
    expect(text).not.toMatch(/the value|x-told|gate-capsule/i)
  },
)

it('a wrapped function’s value is not given when its record is lost', async () => {
  await start('journal')
  const count = wrap(at.gate, 'count', async ({ n }: { n: number }) => {
    reached()
    return n + 1
  })
  const ended = await count({ n: 1 }, { agent: 'support-bot' }).catch((error: unknown) => error)
  expect(ended).toBeInstanceOf(GateRefusal)
  expect(ended).toMatchObject({ code: 'record_lost', problem: { dispatched: true } })
  expect(await at.capsules()).toEqual([])
})
