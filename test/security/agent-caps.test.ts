import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createMemory } from '../../src/gate/memory.js'
import {
  ask,
  get,
  OTHER_TOKEN,
  parseAnswer,
  post,
  type RawClient,
  rawClient,
  type Stand,
  type StandOptions,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { type Peer, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** What one agent, or all answers together, may take: at the cap a call is refused, others go on. */
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
let upstream: RawUpstream
let stand: Stand
let answers: (peer: Peer) => Promise<void>
beforeEach(async () => {
  answers = (peer) => peer.write(OK)
  upstream = await rawUpstream(async (peer) => {
    for (;;) {
      await peer.request()
      await answers(peer)
    }
  })
})
afterEach(async () => {
  await stand.close()
  await upstream.close()
})
const start = async (options: Partial<StandOptions>): Promise<Stand> => {
  stand = await startStand({ upstream: upstream.origin, ...options })
  return stand
}
const as = (token: string, request: string): string => request.replace(TOKEN, token)
const codeOf = (answer: { body: Buffer }): string => JSON.parse(answer.body.toString()).code

/** A body under way: its head and first octet are read, its end is not there. */
async function sendingBody(length: number): Promise<RawClient> {
  const client = await rawClient(stand.port)
  client.send(
    `${post('/files/a', '').replace('content-length: 0', `content-length: ${length}\r\nexpect: 100-continue`)}`,
  )
  await client.until((bytes) => bytes.includes('100 Continue'))
  return client
}

describe('bodies in flight', () => {
  it('above the share of its agent get 429 unread, with a capsule; other agents go on', async () => {
    await start({ memory: { agentBodyBytes: 1000, heldBytes: 1e9 } })
    const first = await sendingBody(900)
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/files/a', '', 'expect: 100-continue\r\n').replace(': 0', ': 101')),
    )
    expect(result.text).not.toContain('100 Continue')
    expect(result.status).toBe(429)
    expect(codeOf(result)).toBe('bodies_exhausted')
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.disposition.verdict_class).toBe('denied')
    const other = await ask(stand.port, as(OTHER_TOKEN, post('/files/a', 'x'.repeat(900))))
    expect(other.status).toBe(200)
    first.send('x'.repeat(900))
    expect(parseAnswer(await first.closed()).text).toContain('HTTP/1.1 200')
    // What was answered counts no longer.
    expect((await ask(stand.port, post('/files/a', 'x'.repeat(1000)))).status).toBe(200)
  })

  it('count as they arrive where no length is announced', async () => {
    await start({ memory: { agentBodyBytes: 1000, heldBytes: 1e9 } })
    const first = await sendingBody(900)
    const chunked = post('/files/a', '').replace('content-length: 0', 'transfer-encoding: chunked')
    const refused = await ask(stand.port, `${chunked}65\r\n${'x'.repeat(0x65)}\r\n0\r\n\r\n`)
    expect([refused.status, codeOf(refused)]).toEqual([429, 'bodies_exhausted'])
    const fits = await ask(stand.port, `${chunked}64\r\n${'x'.repeat(0x64)}\r\n0\r\n\r\n`)
    expect(fits.status).toBe(200)
    const slow = await rawClient(stand.port)
    slow.send(`${chunked}40\r\n${'x'.repeat(0x40)}\r\n`)
    slow.send(`40\r\n${'x'.repeat(0x40)}\r\n`)
    expect(parseAnswer(await slow.closed()).status).toBe(429)
    first.socket.destroy()
  })

  it('are given back when their sender leaves', async () => {
    await start({ memory: { agentBodyBytes: 1000, heldBytes: 1e9 } })
    const { capsules } = await stand.after(async () => {
      const first = await sendingBody(900)
      const gone = concluded(stand)
      first.socket.destroy()
      await gone
    })
    expect(capsules).toHaveLength(1)
    expect((await ask(stand.port, post('/files/a', 'x'.repeat(1000)))).status).toBe(200)
  })
})

const concluded = ({ gate }: Stand): Promise<void> =>
  new Promise((resolve) => {
    const stop = gate.data.subscribe(({ type }) => {
      if (type !== 'CAPSULE') return
      stop()
      resolve()
    })
  })

describe('answers that are held', () => {
  it('without room stream instead: the client has the first octets while the end is still to come', async () => {
    await start({ memory: { agentBodyBytes: 1e9, heldBytes: 10 } })
    let finish: () => void = () => undefined
    const wait = new Promise<void>((resolve) => {
      finish = resolve
    })
    answers = async (peer) => {
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst')
      await wait
      await peer.write('-last')
    }
    const client = await rawClient(stand.port)
    client.send(get('/files/a'))
    await client.until((bytes) => bytes.includes('first'))
    finish()
    expect((await client.closed()).toString()).toContain('first-last')
  })

  it('that must be held get 503 before anything is sent: a tool that says so, and HTTP/1.0', async () => {
    await start({ memory: { agentBodyBytes: 1e9, heldBytes: 64 * 1024 * 1024 - 1 } })
    const old = get('/files/a').replace('HTTP/1.1', 'HTTP/1.0')
    for (const request of [get('/held/a'), old]) {
      const { result, capsules } = await stand.after(() => ask(stand.port, request))
      expect([result.status, codeOf(result)]).toEqual([503, 'held_memory_exhausted'])
      expect(capsules).toHaveLength(1)
      expect(capsules[0]?.disposition.verdict_class).toBe('engine_failure')
    }
    expect(upstream.requests).toEqual([])
    expect((await ask(stand.port, get('/files/a'))).status).toBe(200)
  })

  it('take room only while they are held, and give it back when they are out', async () => {
    const most = 64 * 1024 * 1024
    await start({ memory: { agentBodyBytes: 1e9, heldBytes: most } })
    for (let i = 0; i < 3; i++) {
      expect((await ask(stand.port, get('/held/a'))).status).toBe(200)
    }
    // One octet less would not do for any of them.
    expect(stand.gate.memory.hold(most)).not.toBeNull()
  })

  it('shrink to the length that the tool announces', async () => {
    await start({ memory: { agentBodyBytes: 1e9, heldBytes: 64 * 1024 * 1024 + 100 } })
    let finish: () => void = () => undefined
    const wait = new Promise<void>((resolve) => {
      finish = resolve
    })
    let reached: () => void = () => undefined
    const under = new Promise<void>((resolve) => {
      reached = resolve
    })
    answers = async (peer) => {
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no')
      reached()
      await wait
      await peer.write('k')
    }
    const slow = ask(stand.port, get('/held/a'))
    await under
    answers = (peer) => peer.write(OK)
    expect((await ask(stand.port, get('/held/b'))).status).toBe(200)
    finish()
    expect((await slow).status).toBe(200)
  })

  it('an account gives back what was taken, once', () => {
    const memory = createMemory({ agentBodyBytes: 10, heldBytes: 10 })
    const held = memory.hold(10)
    expect(memory.hold(1)).toBeNull()
    held?.shrinkTo(4)
    held?.shrinkTo(8)
    expect(memory.hold(7)).toBeNull()
    const second = memory.hold(6)
    held?.letGo()
    held?.letGo()
    second?.letGo()
    expect(memory.hold(11)).toBeNull()
    expect(memory.hold(10)).not.toBeNull()
  })
})

describe('idempotency keys', () => {
  const keyed = (key: string, token = TOKEN): string =>
    as(token, get('/files/a', `idempotency-key: ${key}\r\n`))

  it('at the cap a new one gets 429 with a capsule; those there replay, other agents go on', async () => {
    await start({ agentKeys: 2 })
    for (const key of ['k1', 'k2']) expect((await ask(stand.port, keyed(key))).status).toBe(200)
    const { result, capsules } = await stand.after(() => ask(stand.port, keyed('k3')))
    expect([result.status, codeOf(result)]).toEqual([429, 'keys_exhausted'])
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.disposition.verdict_class).toBe('denied')
    for (const key of ['k1', 'k2']) {
      expect((await ask(stand.port, keyed(key))).headers.get('gate-replayed')).toBe('true')
    }
    expect((await ask(stand.port, keyed('k3', OTHER_TOKEN))).status).toBe(200)
    expect((await ask(stand.port, get('/files/a'))).status).toBe(200)
  })

  it('of fifty at once exactly as many are taken as the cap says', async () => {
    await start({ agentKeys: 7 })
    const told = await Promise.all(
      Array.from({ length: 50 }, (_, i) => ask(stand.port, keyed(`k${i}`))),
    )
    expect(told.filter(({ status }) => status === 200)).toHaveLength(7)
    expect(told.filter(({ status }) => status === 429)).toHaveLength(43)
  })
})
