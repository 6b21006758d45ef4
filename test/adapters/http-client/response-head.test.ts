import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parseHead } from '../../../src/adapters/http-client/response-head.js'

/** Fields of one hop, among the names that are drawn here. */
const DROPPED = new Set(['te', 'upgrade'])

/**
 * The same grammar said with expressions, line by line: the parser works on octets for speed, and must
 * neither take nor refuse anything else.
 */
function expected(text: string): { status: number; fields: [string, string][] } | string {
  const lines = text.split('\r\n')
  const status = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(lines[0] ?? '')
  if (status === null) return 'malformed_status_line'
  if (lines.length - 1 > 256) return 'head_too_large'
  const fields: [string, string][] = []
  for (const line of lines.slice(1)) {
    const field =
      /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)[ \t]*$/.exec(
        line,
      )
    if (field === null) return 'malformed_header'
    const name = (field[1] as string).toLowerCase()
    if (!DROPPED.has(name)) fields.push([name, field[2] as string])
  }
  return { status: Number(status[1]), fields }
}

const latin1 = (...parts: (readonly [number, number])[]): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(...parts.map(([min, max]) => fc.integer({ min, max }))), { maxLength: 8 })
    .map((codes) => String.fromCharCode(...codes))
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('x-a: 1', 'X-B:2', 'x-c:\t v \t', 'x-d:', 'x-e: \xa0') },
  { weight: 2, arbitrary: latin1([0x21, 0x7e]).map((name) => `${name}: v`) },
  { weight: 2, arbitrary: latin1([0x09, 0x09], [0x20, 0xff]).map((value) => `x-f:${value}`) },
  { weight: 1, arbitrary: latin1([0, 0xff]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' x: 1', 'x : 1', ':1', 'x', 'x:\r1', 'x:\n1', 'x:\0'),
  },
)
const line = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.0 404', 'HTTP/1.1 599 \xe9\t'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 600 X',
      'HTTP/1.2 200 OK',
      'HTTP/1.1  20 OK',
      'HTTP/1.1 2e1 OK',
      'HTTP/1.1 200OK',
      'HTTP/1.1 20',
      'HTTP/1.1 200 O\nK',
      'HTTP/1.1 200 O\rK',
      'http/1.1 200 OK',
      '',
    ),
  },
)

describe('a response head', () => {
  it('is taken or refused exactly as the grammar says, field by field', () => {
    fc.assert(
      fc.property(line, fc.array(piece, { maxLength: 6 }), (first, rest) => {
        const text = [first, ...rest].join('\r\n')
        // Behind an empty line there is no head any more; the reader never gives one over.
        fc.pre(!`${text}\r\n\r\n`.slice(0, -1).includes('\r\n\r\n'))
        const head = parseHead(Buffer.from(text, 'latin1'), 'POST')
        const wanted = expected(text)
        if (typeof wanted === 'string') expect(head).toBe(wanted)
        else expect(head).toMatchObject({ status: wanted.status, headers: wanted.fields })
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    [256, 'x: 1', 'taken'],
    [257, 'x: 1', 'head_too_large'],
    [257, 'bad', 'head_too_large'],
    [256, 'bad', 'malformed_header'],
  ])('%i fields, the third %j: %s', (count, third, result) => {
    const fields = Array.from({ length: count }, (_, i) => (i === 2 ? third : 'x: 1'))
    const head = parseHead(Buffer.from(['HTTP/1.1 200 OK', ...fields].join('\r\n')), 'POST')
    if (result === 'taken') expect(head).toMatchObject({ status: 200 })
    else expect(head).toBe(result)
  })

  it('in the middle of a larger read: what stands before and behind it is not looked at', () => {
    const bytes = Buffer.from('x: y\r\nHTTP/1.1 204 \r\na: 1\r\n\r\nb: 2\r\n')
    const head = parseHead(bytes.subarray(6, bytes.indexOf('\r\n\r\n')), 'POST')
    expect(head).toMatchObject({
      status: 204,
      headers: [['a', '1']],
      framing: { kind: 'bodyless' },
    })
  })
})
