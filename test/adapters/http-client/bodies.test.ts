import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { type Behaviour, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request } from './harness.js'

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
const hexOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Echoes request bodies, fixed or chunked as the target asks. */
const echo: Behaviour = async (peer) => {
  for (;;) {
    const { head, body } = await peer.request()
    if (head.includes(' /chunked ')) {
      await peer.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const step = Math.max(1, Math.ceil(body.length / 7))
      for (let at = 0; at < body.length; at += step) {
        const piece = body.subarray(at, at + step)
        await peer.write(`${piece.length.toString(16)}\r\n`)
        await peer.write(piece)
        await peer.write('\r\n')
      }
      await peer.write('0\r\n\r\n')
    } else {
      await peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`)
      if (body.length > 0) await peer.write(body)
    }
  }
}
async function echoed(tool: Upstream, target: string, body: Uint8Array): Promise<void> {
  const sink = collector()
  const rule = { ...RULE, connection: 'pooled' } as const
  const seen = complete(await tool.send(request({ target, body }), rule, sink, ALLOWED))
  expect(hexOf(sink.body())).toBe(hexOf(body))
  expect(seen.response.seen.octets).toMatchObject({ digest: hexOf(body), length: body.length })
}

describe('bodies', () => {
  it.each([
    ['JSON', Buffer.from('{ "a" : 1 }')],
    ['floats', Buffer.from('{"a":1.10,"b":-0.0,"c":1E400}')],
    ['large integers', Buffer.from('{"id":123456789012345678901234567890}')],
    ['binary', Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256))],
    ['gzip', gzipSync('x'.repeat(1000))],
    [
      'text that looks like HTTP',
      Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n0\r\n\r\n'),
    ],
    ['nothing', Buffer.alloc(0)],
    ['50 MB', randomBytes(50 * 1024 * 1024)],
  ])('%s: there and back, byte for byte', async (_, body) => {
    const tool = await against(echo)
    await echoed(tool, '/fixed', body)
    await echoed(tool, '/chunked', body)
  })

  it('any body, in any order, over pooled connections', async () => {
    const tool = await against(echo)
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 5000 }),
        fc.constantFrom('/fixed', '/chunked'),
        (body, target) => echoed(tool, target, body),
      ),
      { numRuns: 150 },
    )
  })

  it('answers of calls under way at once are never mixed up', async () => {
    const tool = await against(echo)
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 32 }, (_, index) =>
          echoed(tool, index % 2 === 0 ? '/fixed' : '/chunked', Buffer.from(`${round}/${index}`)),
        ),
      )
    }
  })

  it('1 GB is hashed as it passes and not kept', async () => {
    const piece = Buffer.alloc(256 * 1024, 'q')
    const size = 4096 * piece.length
    const tool = await against(async (peer) => {
      await peer.request()
      peer.socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`,
      )
      for (let i = 0; i < 4096; i++) {
        if (!peer.socket.write(piece)) await once(peer.socket, 'drain')
      }
    })
    const expected = createHash('sha256')
    for (let i = 0; i < 4096; i++) expected.update(piece)
    const before = process.memoryUsage().rss
    let peak = before
    let passed = 0
    let sampled = 0
    const sink = {
      ...collector(),
      data: (chunk: Uint8Array) => {
        passed += chunk.length
        if (++sampled % 64 === 0) peak = Math.max(peak, process.memoryUsage().rss)
        return undefined
      },
    }
    const seen = complete(await tool.send(request(), RULE, sink, ALLOWED))
    expect(passed).toBe(size)
    expect(seen.response.seen.octets).toMatchObject({
      length: size,
      digest: expected.digest('hex'),
    })
    const growth = Math.round((peak - before) / 1024 / 1024)
    process.stderr.write(`1 GB response: resident memory grew by ${growth} MB at most\n`)
    expect(growth).toBeLessThan(256)
  })
})
