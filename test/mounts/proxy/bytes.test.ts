import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ask, get, post, type Stand, startStand } from './harness.js'

/** The client gets the upstream's octets, and the capsule's digests recompute from them. */
const bodies = new Map<string, { type: string; body: Buffer; chunked: boolean; coding?: string }>()
const received: Buffer[] = []
let server: Server
let stand: Stand

beforeAll(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      received.push(Buffer.concat(parts))
      const found = bodies.get((req.url ?? '').slice('/files/'.length))
      if (found === undefined) return res.writeHead(404).end()
      res.setHeader('content-type', found.type)
      if (found.coding !== undefined) res.setHeader('content-encoding', found.coding)
      if (found.chunked) res.write(found.body.subarray(0, 1))
      else res.setHeader('content-length', found.body.length)
      return res.end(found.chunked ? found.body.subarray(1) : found.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stand = await startStand({
    upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
})
afterAll(async () => {
  await stand.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe('responses', () => {
  const JSON_TEXT = Buffer.from('{"ok":true,"n":[1,2,3],"é":"\u{1f600}"}')
  const CASES: readonly [string, string, Buffer, string, string?][] = [
    ['JSON', 'application/json', JSON_TEXT, 'json'],
    ['JSON with floats', 'application/json', Buffer.from('{"x":1.50}'), 'octets'],
    [
      'JSON with big integers',
      'application/json',
      Buffer.from('{"x":12345678901234567890}'),
      'octets',
    ],
    ['JSON with a name twice', 'application/json', Buffer.from('{"x":1,"x":2}'), 'octets'],
    ['text', 'text/plain; charset=utf-8', Buffer.from('héllo\r\n'), 'octets'],
    ['binary', 'application/octet-stream', randomBytes(70_000), 'octets'],
    ['gzip', 'application/json', gzipSync(JSON_TEXT), 'octets', 'gzip'],
    ['nothing', 'text/plain', Buffer.alloc(0), 'octets'],
    ['one octet', 'text/plain', Buffer.from('x'), 'octets'],
    ['exactly the hold limit', 'application/octet-stream', randomBytes(1024 * 1024), 'octets'],
    [
      'one more than the hold limit',
      'application/octet-stream',
      randomBytes(1024 * 1024 + 1),
      'octets',
    ],
    ['50 MB', 'application/octet-stream', randomBytes(50_000_000), 'octets'],
  ]
  it.each(CASES)('%s', async (...row) => {
    const [, type, body, binding, coding] = row
    for (const chunked of [false, true]) {
      bodies.set('a', { type, body, chunked, ...(coding === undefined ? {} : { coding }) })
      const { result, capsules } = await stand.after(() => ask(stand.port, get('/files/a')))
      expect(result.status).toBe(200)
      expect(result.body.equals(body)).toBe(true)
      expect(result.headers.get('content-encoding')).toBe(coding)
      const effect = capsules[0]?.effect
      expect(effect?.status).toBe('confirmed')
      expect(effect?.['dev.capsulegate.response_octets']).toMatchObject({
        digest: sha256(body),
        length: body.length,
        complete: true,
      })
      expect(effect?.['dev.capsulegate.response_binding']).toBe(binding)
    }
  })
})

describe('requests', () => {
  it('reach the upstream octet for octet, and the capsule binds them', async () => {
    bodies.set('up', { type: 'text/plain', body: Buffer.from('ok'), chunked: false })
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
        received.length = 0
        const body = Buffer.from(bytes).toString('latin1')
        const { capsules } = await stand.after(() => ask(stand.port, post('/files/up', body)))
        expect(received[0]).toEqual(Buffer.from(bytes))
        expect(capsules[0]?.effect?.['dev.capsulegate.request_octets']).toMatchObject({
          digest: sha256(bytes),
          length: bytes.length,
        })
      }),
      { numRuns: 25 },
    )
  })
})
