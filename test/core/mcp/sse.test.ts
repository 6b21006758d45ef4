import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { EventStream, type SseEvent } from '../../../src/core/mcp/sse.js'
import { draws } from '../../support/draws.js'

type Read = {
  events: { type: string; data: string }[]
  ok: boolean
  lastEventId: string | null
  retryMs: number | null
}
const octets = (text: string): Uint8Array => Buffer.from(text)

function read(chunks: readonly Uint8Array[], maxBytes = 1 << 20): Read {
  const events: SseEvent[] = []
  const stream = new EventStream(maxBytes, (event) => events.push(event))
  const ok = chunks.every((chunk) => stream.push(chunk))
  const { lastEventId, retryMs } = stream
  return {
    events: events.map(({ type, data }) => ({ type, data: Buffer.from(data).toString('latin1') })),
    ok,
    lastEventId,
    retryMs,
  }
}
const dataOf = (text: string): string[] => read([octets(text)]).events.map(({ data }) => data)

/** All at once and by splitting strings: shares no line with what it is compared to. */
function naive(stream: Uint8Array): Pick<Read, 'events' | 'lastEventId'> {
  const text = Buffer.from(stream)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
  const lines = text.split(/\r\n|\r|\n/)
  lines.pop()
  const events: Read['events'] = []
  let [data, type, id, lastEventId]: [string[], string, string, string] = [[], '', '', '']
  for (const line of lines) {
    if (line === '') {
      lastEventId = id
      if (data.length > 0) events.push({ type: type || 'message', data: data.join('\n') })
      data = []
      type = ''
      continue
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) as RegExpExecArray
    if (name === 'data') data.push(value)
    if (name === 'event') type = value
    // One that a header cannot carry is none.
    if (name === 'id') id = /^[ -~]{1,256}$/.test(value) ? value : ''
  }
  return { events, lastEventId: lastEventId === '' ? null : lastEventId }
}

/** Streams made of what parsers trip over, and of anything else. */
const piece = fc.oneof(
  fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n', ':', ' ', '\ufeff', '\0'),
  fc.constantFrom('data', 'data:', 'data: ', 'data:  x', 'data: {"a":1}', ' data: no', 'DATA: no'),
  fc.constantFrom('id: 7', 'id', 'event: ping', 'event:message', 'retry: 5', ': comment', 'é€😀'),
)
const stream = fc.oneof(
  fc.array(piece, { maxLength: 40 }).map((pieces) => octets(pieces.join(''))),
  fc.uint8Array({ maxLength: 60 }),
)

function cut(whole: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, nth) => whole.subarray(from, at[nth] ?? whole.length))
}

describe('an event stream', () => {
  it('joins the data lines of an event, and takes one space behind the colon', () => {
    expect(dataOf('data: {"a":\ndata:1}\n\n')).toEqual(['{"a":\n1}'])
    expect(dataOf('data:  two spaces\n\n')).toEqual([' two spaces'])
    expect(dataOf('data\n\n')).toEqual([''])
    expect(dataOf('data\ndata\n\n')).toEqual(['\n'])
  })

  it('ends a line at LF, CR and CRLF alike', () => {
    for (const end of ['\n', '\r', '\r\n']) {
      expect(dataOf(`data: a${end}data: b${end}${end}data: c${end}${end}`)).toEqual(['a\nb', 'c'])
    }
  })

  it('has a CR end an event without waiting for an LF', () => {
    expect(dataOf('data: a\r\r')).toEqual(['a'])
  })

  it('gives nothing of an event whose blank line has not come', () => {
    expect(dataOf('data: {"jsonrpc":"2.0"}')).toEqual([])
    expect(dataOf('data: {"jsonrpc":"2.0"}\n')).toEqual([])
    expect(dataOf('data: {"jsonrpc":"2.0"}\r\n\r')).toEqual(['{"jsonrpc":"2.0"}'])
  })

  it('passes over comments, unknown fields and one byte order mark at the start', () => {
    expect(dataOf(': keep-alive\n\nfoo: bar\ndata: a\n\n')).toEqual(['a'])
    expect(dataOf('\ufeffdata: a\n\n')).toEqual(['a'])
    expect(dataOf('data: a\n\n\ufeffdata: b\n\n')).toEqual(['a'])
    expect(dataOf('\ufeff\ufeffdata: a\n\n')).toEqual([])
  })

  it('tells type, id and retry', () => {
    const { events, lastEventId, retryMs } = read([
      octets('id: 41\nretry: 1500\ndata:\n\nevent: ping\ndata: x\nid: 42\n\nid: 43\nretry: x\n'),
    ])
    expect(events).toEqual([
      { type: 'message', data: '' },
      { type: 'ping', data: 'x' },
    ])
    expect({ lastEventId, retryMs }).toEqual({ lastEventId: '42', retryMs: 1500 })
  })

  it('does not take up an id that no header could carry', () => {
    expect(read([octets('id: a\ndata:\n\nid: a\0b\ndata:\n\n')]).lastEventId).toBeNull()
    expect(read([octets(`id: ${'9'.repeat(300)}\ndata:\n\n`)]).lastEventId).toBeNull()
  })

  it('leaves octets that are no UTF-8 as they are', () => {
    expect(read([Buffer.from('data: \xff\xfe\n\n', 'latin1')]).events[0]?.data).toBe('\xff\xfe')
  })
})

describe('a bound', () => {
  it('admits an event of exactly so many octets, and not one more', () => {
    const fits = read([octets('data: 12345678\n\n')], 8)
    expect(fits).toMatchObject({ ok: true, events: [{ data: '12345678' }] })
    for (const text of [
      'data: 123456789\n\n',
      'data: 1234\ndata: 5678\n\n',
      `data: ${'1'.repeat(99)}`,
    ]) {
      expect(read([octets(text)], 8)).toMatchObject({ ok: false, events: [] })
    }
  })

  it('holds for lines that are no data, and for what comes in single octets', () => {
    expect(read([octets(`:${'x'.repeat(99)}`)], 8).ok).toBe(false)
    const singles = Array.from(octets(`data: ${'1'.repeat(99)}`), (octet) => Uint8Array.of(octet))
    expect(read(singles, 8).ok).toBe(false)
  })

  it('reads nothing behind it', () => {
    const events: SseEvent[] = []
    const bounded = new EventStream(8, (event) => events.push(event))
    expect(bounded.push(octets('data: 123456789\n\ndata: a\n\n'))).toBe(false)
    expect(bounded.push(octets('\n\ndata: b\n\n'))).toBe(false)
    expect(events).toEqual([])
  })
})

describe('any stream', () => {
  it('gives the same events however it is cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), fc.constantFrom(4, 1000), (whole, places, max) => {
        expect(read(cut(whole, places), max)).toEqual(read([whole], max))
        const singles = Array.from(whole, (octet) => Uint8Array.of(octet))
        expect(read(singles, max)).toEqual(read([whole], max))
      }),
    )
  })

  it('gives the events that a parser of whole strings finds', () => {
    fc.assert(
      fc.property(stream, (whole) => {
        const { events, lastEventId } = read([whole])
        expect({ events, lastEventId }).toEqual(naive(whole))
      }),
      { numRuns: draws(20_000, 1000) },
    )
  })
})
