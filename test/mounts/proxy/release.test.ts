import { afterEach, describe, expect, it } from '@jest/globals'
import type { Seam } from '../../../src/gate/context.js'
import { type Behaviour, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { ask, get, post, rawClient, type Stand, type StandOptions, startStand } from './harness.js'

/** The end of an answer never comes before its capsule is durable (DESIGN §2.1, §3 "Release"). */
let stand: Stand | null = null
let upstream: RawUpstream | null = null
afterEach(async () => {
  await stand?.close()
  await upstream?.close()
  stand = null
  upstream = null
})
async function start(serve: Behaviour, options: Partial<StandOptions> = {}): Promise<Stand> {
  upstream = await rawUpstream(serve)
  stand = await startStand({ upstream: upstream.origin, ...options })
  return stand
}
/** A door in the spine: whoever comes waits until it is opened. */
function door(at: Seam): {
  seam: (name: Seam) => Promise<void>
  reached: Promise<void>
  open(): void
} {
  let open = (): void => {}
  let arrive = (): void => {}
  let armed = false
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  return {
    reached,
    open,
    seam: async (name) => {
      // The canary goes through the same pipeline at start; it never gets a first byte.
      if (name === 'before_first_byte') armed = true
      if (name !== at || !armed) return
      arrive()
      await opened
    },
  }
}
const once =
  (bytes: string | Uint8Array): Behaviour =>
  async (peer) => {
    for (;;) {
      await peer.request()
      await peer.write(bytes)
    }
  }
const BIG = 'y'.repeat(3 * 1024 * 1024)

describe('nothing ends before its capsule is durable', () => {
  it('keeps a small answer back whole', async () => {
    const gate = door('before_capsule')
    const { port } = await start(once('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'), gate)
    const client = await rawClient(port)
    client.send(get('/files/a'))
    await gate.reached
    expect(client.received()).toHaveLength(0)
    gate.open()
    expect((await client.closed()).toString()).toMatch(/\r\n\r\nhello$/)
  })

  it('streams a large sized answer and keeps its last octet back', async () => {
    const gate = door('before_capsule')
    const { port } = await start(
      once(`HTTP/1.1 200 OK\r\ncontent-length: ${BIG.length}\r\n\r\n${BIG}`),
      gate,
    )
    const client = await rawClient(port)
    client.send(get('/files/a'))
    await gate.reached
    const bodyOf = (bytes: Buffer): number => bytes.length - bytes.indexOf('\r\n\r\n') - 4
    await client.until((bytes) => bodyOf(bytes) === BIG.length - 1)
    expect(await stand?.capsules()).toEqual([])
    gate.open()
    expect(bodyOf(await client.closed())).toBe(BIG.length)
    expect(await stand?.capsules()).toHaveLength(1)
  })

  it('streams a large chunked answer and keeps the zero chunk back; trailers tell the capsule', async () => {
    const gate = door('before_capsule')
    const { port } = await start(
      once(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n${BIG.length.toString(16)}\r\n${BIG}\r\n0\r\nx-sum: 7\r\ngate-verdict: forged\r\n\r\n`,
      ),
      gate,
    )
    const client = await rawClient(port)
    client.send(get('/files/a', 'te: trailers\r\n'))
    await gate.reached
    await client.until((bytes) => bytes.length > BIG.length)
    expect(client.received().subarray(-20).toString()).not.toContain('\r\n0\r\n')
    gate.open()
    const text = (await client.closed()).toString('latin1')
    const [capsule] = (await stand?.capsules()) ?? []
    const end = text.slice(text.lastIndexOf('\r\n0\r\n'))
    expect(end).toContain('x-sum: 7')
    expect(end).toContain(`gate-capsule: ${capsule?.capsule_id}`)
    expect(end.match(/gate-verdict: .*/g)).toEqual(['gate-verdict: executed'])
  })

  it('passes events on one by one and keeps the end of the stream back', async () => {
    const gate = door('before_capsule')
    let more = (): void => {}
    const asked = new Promise<void>((resolve) => {
      more = resolve
    })
    const { port } = await start(async (peer) => {
      await peer.request()
      await peer.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n',
      )
      await asked
      await peer.write('9\r\ndata: 2\n\n\r\n0\r\n\r\n')
    }, gate)
    const client = await rawClient(port)
    client.send(get('/files/a'))
    await client.until((bytes) => bytes.includes('data: 1\n\n'))
    more()
    await client.until((bytes) => bytes.includes('data: 2\n\n'))
    await gate.reached
    expect(client.received().includes('\r\n0\r\n')).toBe(false)
    gate.open()
    expect((await client.closed()).toString()).toMatch(/\r\n0\r\n\r\n$/)
  })

  it.each([
    ['small', 'hello', '/files/a', 502],
    ['large', BIG, '/files/a', 0],
    ['large but held by its manifest', BIG, '/held/a', 502],
  ])(
    'when the record is lost, a %s answer is withheld or visibly cut',
    async (_, body, path, status) => {
      let dispatched = false
      const { port } = await start(
        once(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
        {
          seam: (name) => {
            if (name === 'before_first_byte') dispatched = true
            if (name === 'before_capsule' && dispatched) throw new Error('the disk is gone')
          },
        },
      )
      const answer = await ask(port, get(path))
      expect(answer.headers.get('gate-capsule')).toBeUndefined()
      if (status === 0) expect(answer.body.length).toBeLessThan(body.length)
      else {
        expect(answer.status).toBe(status)
        expect(JSON.parse(answer.body.toString())).toMatchObject({
          code: 'record_lost',
          dispatched: true,
        })
      }
      expect(await stand?.capsules()).toEqual([])
    },
  )

  it('cuts a stream whose upstream broke, and calls nothing confirmed', async () => {
    const { port } = await start(async (peer) => {
      await peer.request()
      await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${BIG.length + 1}\r\n\r\n${BIG}`)
      peer.fin()
    })
    const answer = await ask(port, get('/files/a'))
    expect(answer.body.length).toBeLessThan(BIG.length + 1)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.disposition.verdict_class).toBe('errored')
    expect(capsule?.effect?.status).toBe('dispatched')
  })
})

describe('a client that goes away', () => {
  it('while it sends its body leaves a capsule, and nothing is dispatched', async () => {
    const { port } = await start(once('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const client = await rawClient(port)
    client.send(post('/files/a', 'x'.repeat(100)).slice(0, -50))
    await settled(() => stand?.proxy.stats().active === 1)
    client.socket.destroy()
    await settled(() => stand?.proxy.stats().active === 0)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.disposition.verdict_class).toBe('denied')
    expect(upstream?.requests).toEqual([])
  })

  it.each([
    ['before the head', '', `HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello`],
    ['in a held body', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe', 'llo'],
    [
      'in a streamed body',
      `HTTP/1.1 200 OK\r\ncontent-length: ${BIG.length}\r\n\r\n${BIG.slice(5)}`,
      BIG.slice(0, 5),
    ],
  ])('%s does not stop the observing', async (_, before, after) => {
    let left = (): void => {}
    const gone = new Promise<void>((resolve) => {
      left = resolve
    })
    const { port } = await start(async (peer) => {
      await peer.request()
      const sent = before === '' ? Promise.resolve() : peer.write(before)
      await gone
      await Promise.all([sent, peer.write(after)])
    })
    const client = await rawClient(port)
    client.send(get('/files/a'))
    await settled(() => upstream?.requests.length === 1)
    client.socket.destroy()
    left()
    await settled(() => stand?.proxy.stats().active === 0)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.disposition.verdict_class).toBe('executed')
    expect(capsule?.effect?.status).toBe('confirmed')
  })

  it('from an event stream cuts it, and it is recorded as cut', async () => {
    const { port } = await start(async (peer) => {
      await peer.request()
      await peer.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n',
      )
    })
    const client = await rawClient(port)
    client.send(get('/files/a'))
    await client.until((bytes) => bytes.includes('data: 1'))
    client.socket.destroy()
    await settled(() => stand?.proxy.stats().active === 0)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.disposition.verdict_class).toBe('errored')
    expect(capsule?.effect?.status).toBe('dispatched')
  })

  it('by taking nothing more is dropped, and the observing goes on', async () => {
    const huge = Buffer.alloc(24 * 1024 * 1024, 'z')
    const { port } = await start(
      async (peer) => {
        await peer.request()
        await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${huge.length}\r\n\r\n`)
        await peer.write(huge)
      },
      { limits: { stallMs: 200 } },
    )
    const client = await rawClient(port)
    client.socket.pause()
    client.send(get('/files/a'))
    await settled(() => stand?.proxy.stats().active === 1)
    await settled(() => stand?.proxy.stats().active === 0)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.effect?.status).toBe('confirmed')
    client.socket.destroy()
  })
})

describe('what a client sees of the answer', () => {
  const head = (status: string, fields: string): string => `HTTP/1.1 ${status}\r\n${fields}\r\n\r\n`

  it('holds everything for HTTP/1.0', async () => {
    const gate = door('before_capsule')
    const { port } = await start(
      once(`HTTP/1.1 200 OK\r\ncontent-length: ${BIG.length}\r\n\r\n${BIG}`),
      gate,
    )
    const client = await rawClient(port)
    client.send(get('/files/a').replace('HTTP/1.1', 'HTTP/1.0'))
    await gate.reached
    expect(client.received()).toHaveLength(0)
    gate.open()
    expect((await client.closed()).length).toBeGreaterThan(BIG.length)
  })

  it('is nothing when it must be held and is longer than anything may be', async () => {
    const piece = `100000\r\n${'p'.repeat(0x100000)}\r\n`
    const { port } = await start(async (peer) => {
      await peer.request()
      await peer.write(head('200 OK', 'transfer-encoding: chunked'))
      for (let i = 0; i < 65; i++) await peer.write(piece)
      await peer.write('0\r\n\r\n')
    })
    const client = await rawClient(port)
    client.send(get('/held/a'))
    expect(await client.closed()).toHaveLength(0)
    const [capsule] = (await stand?.capsules()) ?? []
    expect(capsule?.effect?.status).toBe('confirmed')
    expect(capsule?.effect?.['dev.capsulegate.response_octets']?.length).toBe(65 * 0x100000)
  })

  it('HEAD keeps the length it would have had', async () => {
    const { port } = await start(once(head('200 OK', 'content-length: 12345\r\netag: "x"')))
    const answer = await ask(port, get('/files/a').replace('GET', 'HEAD'))
    expect(answer.headers.get('content-length')).toBe('12345')
    expect(answer.headers.get('gate-verdict')).toBe('executed')
    expect(answer.body).toHaveLength(0)
  })

  it.each(['204 No Content', '304 Not Modified'])(
    '%s has no body and no length',
    async (status) => {
      const { port } = await start(once(head(status, 'etag: "x"')))
      const answer = await ask(port, get('/files/a'))
      expect(answer.status).toBe(Number(status.slice(0, 3)))
      expect(answer.headers.has('transfer-encoding')).toBe(false)
      expect(answer.body).toHaveLength(0)
    },
  )

  it('informational answers end here; the final one counts', async () => {
    const { port } = await start(
      once(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${head('200 OK', 'content-length: 0')}`),
    )
    const answer = await ask(port, get('/files/a'))
    expect(answer.text).toMatch(/^HTTP\/1\.1 200/)
  })

  it('loses hop-by-hop fields and forged Gate fields; keeps Date and every Set-Cookie', async () => {
    const { port } = await start(
      once(
        head(
          '200 OK',
          'content-length: 0\r\nconnection: x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=9\r\ngate-capsule: forged\r\ngate-replayed: true\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ndate: Tue, 01 Jan 2030 00:00:00 GMT\r\nx-kept: yes',
        ),
      ),
    )
    const answer = await ask(port, get('/files/a'))
    const [capsule] = (await stand?.capsules()) ?? []
    expect(answer.headers.get('gate-capsule')).toBe(capsule?.capsule_id)
    expect(answer.headers.has('gate-replayed')).toBe(false)
    expect(answer.headers.has('x-hop')).toBe(false)
    expect(answer.headers.get('x-kept')).toBe('yes')
    expect(answer.headers.get('set-cookie')).toBe('a=1, b=2')
    expect(answer.headers.get('date')).toBe('Tue, 01 Jan 2030 00:00:00 GMT')
  })

  it('is led back through the gate by a redirect on the upstream, and nowhere by any other', async () => {
    let location = ''
    const { port } = await start(async (peer) => {
      for (;;) {
        await peer.request()
        await peer.write(head('302 Found', `content-length: 0\r\nlocation: ${location}`))
      }
    })
    const origin = upstream?.origin ?? ''
    for (const [given, seen] of [
      [`${origin}/files/b?x=1`, '/files/b?x=1'],
      ['/files/c', '/files/c'],
      ['d', '/files/d'],
      ['http://evil.test/', undefined],
      ['//evil.test/x', undefined],
      [`${origin.replace('http://', 'http://user@')}/x`, undefined],
      [`${origin}//evil.test/`, undefined],
      ['javascript:alert(1)', undefined],
      ['http://[', undefined],
    ] as const) {
      location = given
      const answer = await ask(port, get('/files/a'))
      expect(answer.status).toBe(302)
      expect([given, answer.headers.get('location')]).toEqual([given, seen])
    }
    expect((await stand?.capsules())?.[0]?.effect?.status).toBe('failed')
  })

  it('is given the recorded answer again under the same Idempotency-Key, with the first action’s ids', async () => {
    const { port } = await start(once(head('201 Created', 'content-length: 0\r\nx-id: 7')))
    const key = 'idempotency-key: k-1\r\n'
    const first = await ask(port, post('/files/a', 'x', key))
    const again = await ask(port, post('/files/a', 'x', key))
    expect(again.status).toBe(201)
    expect(again.headers.get('gate-replayed')).toBe('true')
    for (const name of ['x-id', 'gate-capsule', 'gate-action', 'gate-verdict']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(upstream?.requests).toHaveLength(1)
    expect(await stand?.capsules()).toHaveLength(1)
    const other = await ask(port, post('/files/a', 'y', key))
    expect(other.status).toBe(422)
  })
})

/** Turns of the event loop until it holds; the test's own timeout is the limit. */
async function settled(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setImmediate(resolve))
}
