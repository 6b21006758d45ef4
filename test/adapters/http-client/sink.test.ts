import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { ResponseSink, Upstream } from '../../../src/ports/upstream.js'
import {
  answering,
  type Behaviour,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request, sent } from './harness.js'

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
const SIZE = 8 * 1024 * 1024
const large: Behaviour = async (peer) => {
  await peer.request()
  await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${SIZE}\r\n\r\n`)
  for (let left = SIZE; left > 0; left -= 65536) await peer.write(Buffer.alloc(65536, 'z'))
}
const sinkOf = (over: Partial<ResponseSink>): ResponseSink => ({ ...collector(), ...over })

describe('a sink', () => {
  const goes: readonly [string, Partial<ResponseSink>][] = [
    [
      'throws at the head',
      {
        head: () => {
          throw new Error('gone')
        },
      },
    ],
    ['rejects at the head', { head: () => Promise.reject(new Error('gone')) }],
    [
      'throws at the data',
      {
        data: () => {
          throw new Error('gone')
        },
      },
    ],
    ['rejects at the data', { data: () => Promise.reject(new Error('gone')) }],
  ]
  it.each(goes)(
    'that %s: is not called again, and the answer is observed to its end',
    async (_, over) => {
      const tool = await against(large)
      let calls = 0
      const counted = Object.fromEntries(
        Object.entries(over).map(([name, act]) => [
          name,
          (...args: never[]) => {
            calls++
            return (act as (...args: never[]) => unknown)(...args)
          },
        ]),
      )
      const seen = complete(await tool.send(request(), RULE, sinkOf(counted), ALLOWED))
      expect(seen.response.seen.octets.length).toBe(SIZE)
      expect(calls).toBeLessThanOrEqual(1)
    },
  )

  it('that is busy: nothing more is read until it is ready again', async () => {
    let written = 0
    const tool = await against(async (peer) => {
      await peer.request()
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 67108864\r\n\r\n')
      for (; written < 67108864; written += 65536) await peer.write(Buffer.alloc(65536))
    })
    let ready = (): void => {}
    let delivered = 0
    let stalled = false
    const sending = tool.send(
      request(),
      RULE,
      sinkOf({
        data: (chunk) => {
          delivered += chunk.length
          if (stalled) return undefined
          stalled = true
          return new Promise<void>((resolve) => {
            ready = resolve
          })
        },
      }),
      ALLOWED,
    )
    // The server stands still once both kernels' buffers are full: same figure over many turns.
    let before = -1
    for (let still = 0; still < 200; still = before === written && written > 0 ? still + 1 : 0) {
      before = written
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(written).toBeLessThan(67108864)
    expect(delivered).toBeLessThanOrEqual(65536)
    ready()
    expect(complete(await sending).response.seen.octets.length).toBe(67108864)
    expect(delivered).toBe(67108864)
  })

  it('that never gets ready: the total deadline ends it, as sent', async () => {
    const tool = await against(large)
    const seen = sent(
      await tool.send(
        request(),
        { ...RULE, deadlines: { connect_ms: 10_000, first_byte_ms: 10_000, total_ms: 2_000 } },
        sinkOf({ data: () => new Promise<void>(() => {}) }),
        ALLOWED,
      ),
    )
    expect(seen).toMatchObject({ cause: 'total_deadline', deadline: true, status: 200 })
  })

  it('of an event stream whose reader left: the answer is cut and told as cut', async () => {
    const left = new AbortController()
    const tool = await against(async (peer) => {
      await peer.request()
      await peer.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
          '8\r\ndata: 1\n\r\n',
      )
    })
    const seen = sent(
      await tool.send(
        request(),
        RULE,
        sinkOf({
          closedEventStream: left.signal,
          data: () => {
            left.abort()
            return undefined
          },
        }),
        ALLOWED,
      ),
    )
    expect(seen).toMatchObject({
      cause: 'event_stream_closed',
      deadline: false,
      status: 200,
      partial: { length: 8 },
    })
  })

  it('gets informational heads, end-to-end headers, framing and trailers', async () => {
    const tool = await against(async (peer) => {
      await peer.request()
      await peer.write(
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nx-a: 1\r\n' +
          'trailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 9\r\n\r\n',
      )
    })
    const sink = collector()
    complete(await tool.send(request(), RULE, sink, ALLOWED))
    expect(sink.informed).toEqual([103])
    expect(sink.framing).toBe('chunked')
    expect(sink.headers).toEqual([
      ['x-a', '1'],
      ['trailer', 'x-sum'],
    ])
    expect(sink.trailing).toEqual([['x-sum', '9']])
    expect(sink.body().toString()).toBe('ok')
  })

  it('that is still busy at the end: holds up neither the observation nor the next call', async () => {
    const tool = await against(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
    const rule = { ...RULE, connection: 'pooled' } as const
    const busy = sinkOf({ data: () => new Promise<void>(() => {}) })
    complete(await tool.send(request(), rule, busy, ALLOWED))
    complete(await tool.send(request(), rule, busy, ALLOWED))
    expect(tool.stats().reused).toBe(1)
  })
})
