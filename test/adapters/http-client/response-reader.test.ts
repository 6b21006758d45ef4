import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Fault } from '../../../src/adapters/http-client/fault.js'
import { ResponseReader } from '../../../src/adapters/http-client/response-reader.js'
import type { Header } from '../../../src/core/call/call.js'
import type { ResponseHead } from '../../../src/core/http/response.js'

type Read = {
  readonly heads: ResponseHead[]
  readonly informed: number[]
  readonly trailers: (readonly Header[])[]
  readonly faults: Fault[]
  ends: number
  body: Buffer
}
function read(pieces: readonly Buffer[], last: 'fin' | 'reset' | 'keep', method = 'POST'): Read {
  const out: Read = {
    heads: [],
    informed: [],
    trailers: [],
    faults: [],
    ends: 0,
    body: Buffer.alloc(0),
  }
  const bodies: Buffer[] = []
  const reader = new ResponseReader(method, {
    informational: (status) => out.informed.push(status),
    head: (head) => out.heads.push(head) > 0,
    data: (piece) => bodies.push(piece),
    trailers: (headers) => out.trailers.push(headers),
    end: () => {
      out.ends++
    },
    fault: (fault) => out.faults.push(fault),
  })
  for (const piece of pieces) reader.feed(piece)
  if (last === 'fin') reader.closed()
  if (last === 'reset') reader.broken()
  return { ...out, body: Buffer.concat(bodies) }
}

const piecesOf = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
}
const cutting = fc.array(fc.nat(100_000), { maxLength: 12 })

type Message = {
  readonly framing: 'content_length' | 'chunked' | 'close'
  readonly body: Buffer
  readonly bytes: Buffer
}
type Shape = {
  readonly framing: Message['framing']
  readonly body: Buffer
  readonly cuts: readonly number[]
  readonly extension: string
  readonly trailer: boolean
  readonly hints: number
}
function messageOf({ framing, body, cuts, extension, trailer, hints }: Shape): Message {
  const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(hints)
  const start = `${early}HTTP/1.1 200 OK\r\nx-a:  b \r\n`
  const bytes = (...parts: (string | Buffer)[]): Message => ({
    framing,
    body,
    bytes: Buffer.concat(parts.map((part) => Buffer.from(part))),
  })
  switch (framing) {
    case 'content_length':
      return bytes(`${start}content-length: ${body.length}\r\n\r\n`, body)
    case 'close':
      return bytes(`${start}\r\n`, body)
    case 'chunked': {
      const chunks = piecesOf(body, cuts).filter((piece) => piece.length > 0)
      return bytes(
        `${start}transfer-encoding: Chunked\r\n\r\n`,
        ...chunks.flatMap((piece) => [
          `${piece.length.toString(16)}${extension}\r\n`,
          piece,
          '\r\n',
        ]),
        `0${extension}\r\n${trailer ? 'x-sum: 1\r\n' : ''}\r\n`,
      )
    }
  }
}
const message: fc.Arbitrary<Message> = fc
  .record({
    framing: fc.constantFrom('content_length' as const, 'chunked' as const, 'close' as const),
    body: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    cuts: cutting,
    extension: fc.constantFrom('', ';a', ' ; a="b"'),
    trailer: fc.boolean(),
    hints: fc.nat(3),
  })
  .map(messageOf)

describe('ResponseReader', () => {
  it('reads a message the same however it is cut into reads', () => {
    fc.assert(
      fc.property(message, cutting, ({ framing, body, bytes }, cuts) => {
        const seen = read(piecesOf(bytes, cuts), framing === 'close' ? 'fin' : 'keep')
        expect(seen.faults).toEqual([])
        expect(seen.ends).toBe(1)
        expect(seen.heads.map((head) => head.framing.kind)).toEqual([framing])
        expect(seen.body.equals(body)).toBe(true)
        expect(seen.heads[0]?.headers).toContainEqual(['x-a', 'b'])
      }),
      { numRuns: 500 },
    )
  })

  it('never sees an end in a message that was cut short, by FIN or by reset', () => {
    fc.assert(
      fc.property(
        message.filter(({ framing }) => framing !== 'close'),
        fc.nat(),
        cutting,
        fc.constantFrom('fin' as const, 'reset' as const),
        ({ bytes }, cut, cuts, last) => {
          const part = bytes.subarray(0, cut % bytes.length)
          const seen = read(piecesOf(part, cuts), last)
          expect(seen.ends).toBe(0)
          expect(seen.faults).toHaveLength(1)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('never takes a reset for an end, even of a close-delimited body', () => {
    fc.assert(
      fc.property(message, cutting, ({ framing, bytes }, cuts) => {
        const seen = read(piecesOf(bytes, cuts), 'reset')
        expect(seen.ends).toBe(framing === 'close' ? 0 : 1)
      }),
    )
  })

  it('refuses a message with anything behind it in the same read', () => {
    fc.assert(
      fc.property(
        message.filter(({ framing }) => framing !== 'close'),
        fc.uint8Array({ minLength: 1, maxLength: 20 }),
        ({ bytes }, more) => {
          const seen = read([Buffer.concat([bytes, more])], 'keep')
          expect(seen.ends).toBe(0)
          expect(seen.faults).toEqual(['surplus_bytes'])
        },
      ),
    )
  })

  it('concludes once and stays concluded, whatever comes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 50 }), fc.constant(null)), { maxLength: 6 }),
        message,
        fc.constantFrom('fin' as const, 'reset' as const),
        (noise, { bytes }, last) => {
          const pieces = noise.map((part) => (part === null ? bytes : Buffer.from(part)))
          const seen = read(pieces, last)
          expect(seen.ends + seen.faults.length).toBe(1)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('with one byte changed, ends only on a body as long as its own head says', () => {
    fc.assert(
      fc.property(message, fc.nat(), fc.nat(255), ({ bytes }, at, byte) => {
        const changed = Buffer.from(bytes)
        changed[at % changed.length] = byte
        const seen = read([changed], 'reset')
        if (seen.ends === 0) return
        const framing = seen.heads[0]?.framing
        if (framing?.kind === 'content_length') expect(seen.body.length).toBe(framing.length)
        else expect(framing?.kind).not.toBe('close')
      }),
      { numRuns: 2000 },
    )
  })

  it.each(['HEAD', 'GET'])('%s with 304, 204 or HEAD: ends with the head', (method) => {
    for (const status of method === 'HEAD' ? [200, 204, 304, 404] : [204, 304]) {
      const length = status === 204 ? '' : 'content-length: 10\r\n'
      const seen = read([Buffer.from(`HTTP/1.1 ${status} X\r\n${length}\r\n`)], 'keep', method)
      expect(seen).toMatchObject({ ends: 1, faults: [] })
    }
  })

  it('drops hop-by-hop fields and what Connection nominates, keeps repeated ones in order', () => {
    const seen = read(
      [
        Buffer.from(
          'HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nconnection: keep-alive, X-Hop\r\nx-hop: 1\r\n' +
            'keep-alive: timeout=3\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n',
        ),
      ],
      'keep',
    )
    expect(seen.heads[0]?.headers).toEqual([
      ['set-cookie', 'a'],
      ['set-cookie', 'b'],
      ['content-length', '0'],
    ])
    expect(seen.heads[0]?.keepAliveMs).toBe(2000)
  })

  it('keeps framing fields out of trailers', () => {
    const seen = read(
      [
        Buffer.from(
          'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\nx-sum: 1\r\n\r\n',
        ),
      ],
      'keep',
    )
    expect(seen.trailers).toEqual([[['x-sum', '1']]])
    expect(seen.ends).toBe(1)
  })
})
