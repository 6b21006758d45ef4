import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { rawUpstream } from '../../../support/raw-upstream.js'
import {
  chunk,
  connect,
  END,
  error,
  event,
  FREELY,
  json,
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

const RULE = { success: { status: [], unless: [] }, saltedDigest: null }
const sha256 = (data: Uint8Array | string): string =>
  createHash('sha256').update(data).digest('hex')

describe('an answer as a JSON body', () => {
  it('is the body exactly', async () => {
    const body = '{\n  "jsonrpc": "2.0",\r\n  "id": 1, "result": {"a": "€"}\n}\n'
    const { ask, faults } = await open(({ peer }) => peer.write(json(body)))
    const received = messageOf(await ask(1))
    expect(text(received.octets)).toBe(body)
    const seen = received.observe(RULE)
    expect(seen).toMatchObject({ kind: 'complete', outcome: 'succeeded' })
    if (seen.kind !== 'complete') return
    expect(seen.response.seen).toMatchObject({
      framing: 'json_body',
      requestSent: true,
      octets: { digest: sha256(body), length: Buffer.byteLength(body), complete: true },
    })
    expect(faults).toEqual([])
  })

  it.each([400, 404, 500])('may be an error under the status %d', async (status) => {
    const { ask } = await open(({ peer, id }) => peer.write(json(error(id, -32020), status)))
    expect(messageOf(await ask(1)).observe(RULE)).toMatchObject({ outcome: 'failed' })
  })

  it('is none while its end is not proven', async () => {
    const body = result(1)
    const cut = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length + 1}\r\n\r\n${body}`
    const { ask } = await open(async ({ peer }) => {
      await peer.write(cut)
      peer.fin()
    })
    expect(noneOf(await ask(1))).toEqual({
      kind: 'sent',
      cause: 'closed_in_body',
      deadline: false,
      status: 200,
      partial: { digest: sha256(body), length: body.length },
    })
  })

  it('is none where the connection only ends behind it', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n'
    const { ask } = await open(async ({ peer, id }) => {
      await peer.write(head + result(id))
      peer.fin()
    })
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause: 'close_delimited' })
  })
})

describe('a response that is no answer confirms nothing', () => {
  const gzip = json(result(1)).replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n')
  it.each([
    ['an error page', plain(502, 'Bad Gateway'), 'http_status_502', []],
    ['a refusal without body', plain(401), 'http_status_401', []],
    ['a redirect', plain(307), 'http_status_307', []],
    ['an error without id', json(error(null), 400), 'http_status_400', []],
    ['a result under a status of failure', json(result(1), 500), 'http_status_500', []],
    ['garbage under a status of failure', json('<html>', 503), 'http_status_503', []],
    ['accepted, as if it were a notification', plain(202), 'http_status_202', []],
    ['a page', plain(200, 'hello'), 'http_status_200', []],
    ['a coded body', gzip, 'http_status_200', []],
    ['no JSON', json('hello'), 'message_not_json', ['message_not_json']],
    ['nothing', json(''), 'message_not_json', ['message_not_json']],
    ['a batch', json(`[${result(1)}]`), 'message_batched', ['message_batched']],
    [
      'a name twice',
      json('{"jsonrpc":"2.0","id":2,"id":1,"result":{}}'),
      'message_names_twice',
      ['message_names_twice'],
    ],
    ["another's answer", json(result(7)), 'answered_another', ['answered_unasked']],
    ['a notification', json(note()), 'no_response', []],
    [
      'events under another status',
      STREAM.replace('200 OK', '201 X') + event(result(1)) + END,
      'http_status_201',
      [],
    ],
  ])('%s', async (_, response, cause, expected) => {
    const { ask, faults } = await open(({ peer }) => peer.write(response))
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause, deadline: false })
    expect(faults).toEqual(expected)
  })

  it('and its status and octets are kept for evidence', async () => {
    const { ask } = await open(({ peer }) => peer.write(plain(502, 'Bad Gateway')))
    expect(noneOf(await ask(1))).toEqual({
      kind: 'sent',
      cause: 'http_status_502',
      deadline: false,
      status: 502,
      partial: { digest: sha256('Bad Gateway'), length: 11 },
    })
  })
})

describe('an answer as an event', () => {
  it('is its data exactly, complete at the blank line, wherever the chunks end', async () => {
    const data = '{"jsonrpc":"2.0",\n"id":1,"result":{"a":"€"}}'
    const sent = Buffer.from(`: hi\r\nid: 1\r\ndata: ${data.replace('\n', '\r\ndata:')}\r\n\r\n`)
    const { ask, faults } = await open(async ({ peer }) => {
      peer.socket.setNoDelay(true)
      await peer.write(STREAM)
      for (const octet of sent) await peer.write(Buffer.from([0x31, 13, 10, octet, 13, 10]))
    })
    const received = messageOf(await ask(1))
    expect(text(received.octets)).toBe(data)
    const seen = received.observe(RULE)
    if (seen.kind !== 'complete') throw new Error(seen.kind)
    expect(seen.response.seen).toMatchObject({
      framing: 'sse_event',
      octets: { digest: sha256(data), length: Buffer.byteLength(data) },
    })
    expect(faults).toEqual([])
  })

  it('comes behind messages that belong to the request, and before some that do not', async () => {
    const { ask, messages, faults, until } = await open(({ peer, id }) =>
      peer.write(STREAM + event(note(1)) + event(result(id)) + event(note(2)) + END),
    )
    messageOf(await ask(1))
    await until(() => messages.length === 2)
    expect(messages).toEqual([
      { text: note(1), during: 1 },
      { text: note(2), during: null },
    ])
    expect(faults).toEqual([])
  })

  it('is there before the stream ends; the stream is then closed', async () => {
    let closed: () => void = () => {}
    const left = new Promise<void>((resolve) => {
      closed = resolve
    })
    const { ask } = await open(async ({ peer, id }) => {
      peer.socket.on('end', closed)
      await peer.write(STREAM + event(result(id)))
    })
    messageOf(await ask(1))
    await left
  })

  it('of another type, or without data, says nothing', async () => {
    const { ask, messages, faults } = await open(({ peer, id }) =>
      peer.write(
        STREAM +
          chunk(`id: 1\ndata:\n\n`) +
          chunk(`event: ping\ndata: ${result(id, '{"evil":1}')}\n\n`) +
          chunk(`event: message\ndata: ${result(id)}\n\n`) +
          END,
      ),
    )
    expect(text(messageOf(await ask(1)).octets)).toBe(result(1))
    expect([messages, faults]).toEqual([[], []])
  })

  it('is none without its blank line', async () => {
    const { ask, faults } = await open(({ peer, id }) =>
      peer.write(`${STREAM}${chunk(`data: ${result(id)}\n`)}${END}`),
    )
    expect(noneOf(await ask(1))).toMatchObject({
      kind: 'sent',
      cause: 'stream_ended',
      status: 200,
      partial: { length: result(1).length + 7 },
    })
    expect(faults).toEqual([])
  })

  it('is none where the stream is cut before it', async () => {
    const { ask } = await open(async ({ peer }) => {
      await peer.write(STREAM + event(note()))
      peer.reset()
    })
    expect(noneOf(await ask(1))).toMatchObject({
      kind: 'sent',
      status: 200,
      partial: { length: note().length + 8 },
    })
  })

  it('holds though the stream is cut behind it', async () => {
    const { ask } = await open(async ({ peer, id }) => {
      await peer.write(STREAM + event(result(id)))
      peer.fin()
    })
    messageOf(await ask(1))
  })
})

describe('a server that breaks the protocol on a stream', () => {
  it('by answering twice, is told of; the first holds', async () => {
    const { ask, faults, until } = await open(({ peer, id }) =>
      peer.write(STREAM + event(result(id, '{"n":1}')) + event(result(id, '{"n":2}')) + END),
    )
    expect(text(messageOf(await ask(1)).octets)).toBe(result(1, '{"n":1}'))
    await until(() => faults.length === 1)
    expect(faults).toEqual(['answered_twice'])
  })

  it("by answering another's request, is told of; neither is answered by it", async () => {
    let first: (write: string) => Promise<void> = async () => {}
    const { ask, faults, until } = await open(async ({ peer, id }) => {
      if (id === 1) {
        await peer.write(STREAM)
        first = peer.write
        return
      }
      await peer.write(STREAM + event(result(1, '{"evil":1}')) + event(result(id)) + END)
    })
    const one = ask(1)
    messageOf(await ask(2))
    await until(() => faults.length === 1)
    expect(faults).toEqual(['answered_unasked'])
    await first(event(result(1)) + END)
    expect(text(messageOf(await one).octets)).toBe(result(1))
  })

  it('by what is no message, is told of, and read on', async () => {
    const { ask, faults } = await open(({ peer, id }) =>
      peer.write(STREAM + event('hello') + event('[]') + event(result(id)) + END),
    )
    messageOf(await ask(1))
    expect(faults).toEqual(['message_not_json', 'message_batched'])
  })

  it('again and again, is not listened to any more', async () => {
    const { ask, faults } = await open(async ({ peer }) => {
      await peer.write(STREAM)
      while (!peer.socket.destroyed) await peer.write(event('garbage'))
    })
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause: 'too_many_faults' })
    expect(faults.length).toBeGreaterThanOrEqual(64)
  })

  it.each([
    ['an event', () => STREAM + chunk(`data: ${'x'.repeat(2000)}`)],
    ['a line', () => STREAM + chunk(`: ${'x'.repeat(2000)}`)],
    ['a body', () => json('x'.repeat(2000))],
  ])('by %s that is too long, is cut', async (_, response) => {
    const { ask, faults } = await open(({ peer }) => peer.write(response()), 1000)
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause: 'message_too_long' })
    expect(faults).toEqual(['message_too_long'])
  })
})

describe('deadlines and departures', () => {
  it('before a connection: nothing was sent', async () => {
    const { ask, raw } = await open(() => {})
    await raw.close()
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'not_sent', deadline: false })
  })

  it('withdrawn just before the first octet: nothing was sent', async () => {
    const { ask, methods } = await open(({ peer, id }) => peer.write(json(result(id))))
    const observation = noneOf(await ask(1, MODERN, { ...FREELY, stillAllowed: () => false }))
    expect(observation).toMatchObject({ kind: 'not_sent', cause: 'withdrawn' })
    messageOf(await ask(2))
    expect(methods).toHaveLength(1)
  })

  it('passing while the server says nothing, or not enough', async () => {
    for (const response of ['', STREAM + event(note())]) {
      const { ask } = await open(({ peer }) => peer.write(response))
      const observation = noneOf(await ask(1, MODERN, { ...FREELY, totalMs: 200 }))
      expect(observation).toMatchObject({ kind: 'sent', cause: 'total_deadline', deadline: true })
    }
  })

  it('a stream without a deadline is held open, and ends when nobody listens', async () => {
    let gone: () => void = () => {}
    const left = new Promise<void>((resolve) => {
      gone = resolve
    })
    const { ask, messages, until } = await open(async ({ peer }) => {
      peer.socket.on('end', gone)
      await peer.write(STREAM + event(note()))
    })
    const leaving = new AbortController()
    const listening = ask(
      1,
      { ...MODERN, method: 'subscriptions/listen', name: null },
      {
        ...FREELY,
        signal: leaving.signal,
      },
    )
    await until(() => messages.length === 1)
    leaving.abort()
    expect(noneOf(await listening)).toMatchObject({ kind: 'sent', cause: 'cancelled' })
    await left
  })

  it('a caller that has left before: nothing is sent', async () => {
    const { ask, methods } = await open(() => {})
    const control = { ...FREELY, signal: AbortSignal.abort() }
    expect(noneOf(await ask(1, MODERN, control))).toMatchObject({
      kind: 'not_sent',
      cause: 'cancelled',
    })
    expect(methods).toEqual([])
  })

  it('an answer to a request that has not wholly left is none', async () => {
    const raw = await rawUpstream(async (peer) => {
      await new Promise((resolve) => peer.socket.once('data', resolve))
      peer.socket.pause()
      await peer.write(STREAM + event(result(1)) + END)
    })
    const { connection } = connect(raw.origin)
    const octets = Buffer.from(`{"x":"${'x'.repeat(16 << 20)}"}`)
    const received = await connection.request({ id: 1, head: MODERN, octets }, FREELY)
    expect(noneOf(received)).toMatchObject({ kind: 'sent', cause: 'early_answer' })
    await raw.close()
  })
})
