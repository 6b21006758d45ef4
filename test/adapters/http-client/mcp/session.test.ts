import { describe, expect, it } from '@jest/globals'
import {
  ACCEPTED,
  type Asked,
  chunk,
  END,
  event,
  FREELY,
  json,
  LEGACY,
  MODERN,
  messageOf,
  noneOf,
  note,
  open,
  plain,
  result,
  STREAM,
  text,
} from './harness.js'

const INITIALIZE = { ...LEGACY, method: 'initialize', name: null, protocolVersion: null }
const SESSION = 'mcp-session-id: s-1\r\n'

describe('the head of a message', () => {
  const headOf = async (head: typeof MODERN): Promise<Asked> => {
    let seen: Asked | null = null
    const { ask } = await open((asked) => {
      seen = asked
      return asked.peer.write(json(result(asked.id)))
    })
    messageOf(await ask(1, head))
    if (seen === null) throw new Error('nothing came')
    return seen
  }

  it('of 2026-07-28 repeats what it says', async () => {
    const { head, header } = await headOf({
      ...MODERN,
      name: 'zurück',
      params: [
        ['mcp-param-region', 'us-west1'],
        ['mcp-param-text', ' padded '],
      ],
    })
    expect(head).toMatch(/^POST \/mcp\?tenant=1 HTTP\/1\.1/)
    expect(header('content-type')).toBe('application/json')
    expect(header('accept')).toBe('application/json, text/event-stream')
    expect(header('mcp-protocol-version')).toBe('2026-07-28')
    expect(header('mcp-method')).toBe('tools/call')
    expect(header('mcp-name')).toBe('=?base64?enVyw7xjaw==?=')
    expect(header('mcp-param-region')).toBe('us-west1')
    expect(header('mcp-param-text')).toBe('=?base64?IHBhZGRlZCA=?=')
    expect(header('authorization')).toBe('Bearer upstream-secret')
    expect(header('mcp-session-id')).toBeNull()
  })

  it('before it repeats nothing but the version', async () => {
    const { header } = await headOf(LEGACY)
    expect(header('mcp-protocol-version')).toBe('2025-11-25')
    expect([header('mcp-method'), header('mcp-name')]).toEqual([null, null])
    expect((await headOf(INITIALIZE)).header('mcp-protocol-version')).toBeNull()
  })
})

/** A server of 2025-11-25 with a session; `more` is what a test wants otherwise. */
const legacy =
  (more: (asked: Asked) => Promise<void> | undefined = () => undefined) =>
  (asked: Asked): Promise<void> | void => {
    const other = more(asked)
    if (other !== undefined) return other
    const { peer, method, id } = asked
    if (method === 'initialize') return peer.write(json(result(id), 200, SESSION))
    if (method === 'GET' || method === 'DELETE') return peer.write(plain(405))
    if (method.startsWith('notifications/') || method === 'response') return peer.write(ACCEPTED)
    return peer.write(json(result(id)))
  }

async function connected(more?: (asked: Asked) => Promise<void> | undefined) {
  const asked: Asked[] = []
  const opened = await open((one) => {
    asked.push(one)
    return legacy(more)(one)
  })
  messageOf(await opened.ask(1, INITIALIZE))
  return { ...opened, asked }
}

describe('a session', () => {
  it('is named on everything behind initialize, and ended by DELETE', async () => {
    const { ask, tell, asked, connection, ends } = await connected()
    tell('notifications/initialized')
    messageOf(await ask(2, LEGACY))
    while (asked.length < 4) await new Promise((resolve) => setImmediate(resolve))
    await connection.close()
    const named = asked.map(({ method, header }) => `${method} ${header('mcp-session-id')}`)
    expect(named.slice(0, 2)).toEqual(['initialize null', 'notifications/initialized s-1'])
    expect(named.slice(2, 4).sort()).toEqual(['GET s-1', 'tools/call s-1'])
    expect(named.slice(4)).toEqual(['DELETE s-1'])
    expect(asked.at(-1)?.header('mcp-protocol-version')).toBe('2025-11-25')
    expect(ends).toEqual([{ why: 'closed' }])
    expect(noneOf(await ask(3, LEGACY))).toMatchObject({ kind: 'not_sent', cause: 'closed' })
  })

  it('that the server has forgotten is over', async () => {
    const { ask, ends, connection, methods } = await connected(({ method, peer }) =>
      method === 'tools/call' ? peer.write(plain(404)) : undefined,
    )
    expect(noneOf(await ask(2, LEGACY))).toMatchObject({
      kind: 'sent',
      cause: 'http_status_404',
      status: 404,
    })
    expect(ends).toEqual([{ why: 'session_ended' }])
    expect(noneOf(await ask(3, LEGACY))).toMatchObject({
      kind: 'not_sent',
      cause: 'session_ended',
    })
    await connection.close()
    expect(methods).toEqual(['initialize', 'tools/call'])
    expect(ends).toHaveLength(1)
  })

  it.each([['a b'], ['é'], ['x'.repeat(2000)]])(
    'whose name cannot be sent back is none: %#',
    async (id) => {
      const { ask, asked } = await connected(({ method, peer, id: request }) =>
        method === 'initialize'
          ? peer.write(json(result(request), 200, `mcp-session-id: ${id}\r\n`))
          : undefined,
      )
      messageOf(await ask(2, LEGACY))
      expect(asked[1]?.header('mcp-session-id')).toBeNull()
    },
  )

  it('is opened by initialize only', async () => {
    const { ask, asked } = await open2()
    messageOf(await ask(1, LEGACY))
    messageOf(await ask(2, LEGACY))
    expect(asked.map(({ header }) => header('mcp-session-id'))).toEqual([null, null])
  })

  async function open2() {
    const asked: Asked[] = []
    const opened = await open((one) => {
      asked.push(one)
      return one.peer.write(json(result(one.id), 200, SESSION))
    })
    return { ...opened, asked }
  }
})

describe('what is told', () => {
  it('comes in order, and requests come behind the word that the client is ready', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { ask, tell, methods } = await connected(({ method, peer }) =>
      method === 'notifications/initialized' ? held.then(() => peer.write(ACCEPTED)) : undefined,
    )
    tell('notifications/initialized')
    tell('notifications/roots/list_changed')
    const answer = ask(2, LEGACY)
    while (methods.length < 2) await new Promise((resolve) => setImmediate(resolve))
    // A whole exchange on another connection passes meanwhile.
    await ask(3, INITIALIZE)
    expect(methods).toEqual(['initialize', 'notifications/initialized', 'initialize'])
    release()
    messageOf(await answer)
    expect(methods.indexOf('tools/call')).toBeGreaterThan(
      methods.indexOf('notifications/initialized'),
    )
  })

  it('and not taken, is reported', async () => {
    const { tell, connection, reports, methods } = await connected(({ method, peer }) =>
      method === 'notifications/cancelled' ? peer.write(plain(400)) : undefined,
    )
    tell('notifications/cancelled')
    while (reports.length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(reports).toMatchObject([{ event: 'mcp_message_lost' }])
    expect(reports[0]?.detail).toContain('notifications/cancelled was not taken (http_status_400)')
    connection.tell(Buffer.from(result(1)), { ...LEGACY, method: null, name: null })
    while (!methods.includes('response')) await new Promise((resolve) => setImmediate(resolve))
  })
})

describe('the stream on which a server speaks by itself', () => {
  const streaming =
    (serve: (asked: Asked, nth: number) => Promise<void>) =>
    (asked: Asked, count: { n: number }): Promise<void> | undefined =>
      asked.method === 'GET' ? serve(asked, ++count.n) : undefined

  const withStream = async (serve: (asked: Asked, nth: number) => Promise<void>) => {
    const count = { n: 0 }
    const opened = await connected((asked) => streaming(serve)(asked, count))
    opened.tell('notifications/initialized')
    return opened
  }

  it('is opened when the client is ready, and closed with the connection', async () => {
    let gone: () => void = () => {}
    const left = new Promise<void>((resolve) => {
      gone = resolve
    })
    const { messages, until, connection, asked, faults } = await withStream(async ({ peer }) => {
      peer.socket.on('end', gone)
      await peer.write(STREAM + event(note(1)) + event(result(9)))
    })
    await until(() => messages.length === 1 && faults.length === 1)
    expect(messages).toEqual([{ text: note(1), during: null }])
    expect(faults).toEqual(['answered_unasked'])
    const get = asked.find(({ method }) => method === 'GET')
    expect(get?.header('accept')).toBe('text/event-stream')
    expect(get?.header('last-event-id')).toBeNull()
    await connection.close()
    await left
  })

  it('is taken up again where it broke, from the last event on', async () => {
    const { messages, until, asked } = await withStream(async ({ peer }, nth) => {
      if (nth > 2) return
      await peer.write(`${STREAM}${chunk(`id: e${nth}\ndata: ${note(nth)}\n\n`)}`)
      if (nth === 1) peer.reset()
    })
    await until(() => messages.length === 2)
    const gets = asked.filter(({ method }) => method === 'GET')
    expect(gets.map(({ header }) => header('last-event-id'))).toEqual([null, 'e1'])
  })

  it('is not asked for again where it never was, and the session goes on', async () => {
    const responses = [plain(405), plain(404), plain(500), json('{}'), '']
    const all = await Promise.all(
      responses.map(async (response) => {
        const asks = { n: 0 }
        const { ask, ends } = await withStream(async ({ peer }) => {
          asks.n++
          await peer.write(response)
          peer.fin()
        })
        messageOf(await ask(2, LEGACY))
        return { asks, ends }
      }),
    )
    while (all.some(({ asks }) => asks.n === 0)) await new Promise((done) => setImmediate(done))
    // Longer than a stream that had worked would wait.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    for (const { asks, ends } of all) expect([asks.n, ends]).toEqual([1, []])
  })

  it('is not there in 2026-07-28', async () => {
    const { tell, ask, methods } = await open(({ peer, method, id }) =>
      peer.write(method.startsWith('notifications/') ? ACCEPTED : json(result(id))),
    )
    tell('notifications/initialized', MODERN)
    messageOf(await ask(1, MODERN))
    messageOf(await ask(2, MODERN))
    expect(methods).not.toContain('GET')
  })
})

describe('a stream that ends before the answer', () => {
  const PRIMED = STREAM + chunk('id: p1\nretry: 120\ndata:\n\n')

  it('is taken up where its server can do that, and the request is not sent again', async () => {
    const { ask, asked, messages } = await connected(({ peer, method, id, header }) => {
      if (method === 'tools/call') return peer.write(PRIMED + END)
      if (method !== 'GET') return undefined
      expect(header('last-event-id')).toBe('p1')
      expect(header('mcp-session-id')).toBe('s-1')
      void id
      return peer.write(STREAM + event(note(5)) + event(result(2, '{"late":1}')) + END)
    })
    const started = performance.now()
    expect(text(messageOf(await ask(2, LEGACY)).octets)).toBe(result(2, '{"late":1}'))
    expect(performance.now() - started).toBeGreaterThanOrEqual(119)
    expect(messages).toEqual([{ text: note(5), during: 2 }])
    expect(asked.map(({ method }) => method)).toEqual(['initialize', 'tools/call', 'GET'])
  })

  it('ends as sent where that is refused, and by its deadline or caller', async () => {
    const { ask } = await connected(({ peer, method }) =>
      method === 'tools/call' ? peer.write(PRIMED + END) : undefined,
    )
    expect(noneOf(await ask(2, LEGACY))).toMatchObject({ kind: 'sent', cause: 'stream_ended' })

    const endless = await connected(({ peer, method }) =>
      method === 'tools/call' || method === 'GET' ? peer.write(PRIMED + END) : undefined,
    )
    const late = noneOf(await endless.ask(2, LEGACY, { ...FREELY, totalMs: 400 }))
    expect(late).toMatchObject({ kind: 'sent', cause: 'total_deadline', deadline: true })
    const leaving = new AbortController()
    const cancelled = endless.ask(3, LEGACY, { ...FREELY, signal: leaving.signal })
    leaving.abort()
    const { kind, cause } = noneOf(await cancelled)
    expect([cause, kind === 'sent' || kind === 'not_sent']).toEqual(['cancelled', true])
  })

  it('is never taken up in 2026-07-28', async () => {
    const { ask, methods } = await open(({ peer }) => peer.write(PRIMED + END))
    expect(noneOf(await ask(1, MODERN))).toMatchObject({ kind: 'sent', cause: 'stream_ended' })
    expect(methods).toEqual(['tools/call'])
  })
})

it('closing ends what is under way as sent, and the server takes no more', async () => {
  const { server, ask, methods, upstream } = await open(() => {})
  const asked = ask(1)
  while (methods.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await server.close()
  expect(noneOf(await asked)).toMatchObject({ kind: 'sent', cause: 'closed' })
  expect(upstream.stats().inFlight).toBe(0)
  const ended = new Promise((resolve) =>
    server.connect({ message() {}, fault() {}, closed: resolve }),
  )
  expect(await ended).toEqual({ why: 'server_closed' })
})
