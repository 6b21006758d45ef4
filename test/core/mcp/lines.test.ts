import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isBlank, Lines } from '../../../src/core/mcp/lines.js'

function read(chunks: readonly Uint8Array[], maxBytes = 1 << 20) {
  const lines: string[] = []
  const reader = new Lines(maxBytes, (octets) => lines.push(Buffer.from(octets).toString('latin1')))
  const ok = chunks.every((chunk) => reader.push(chunk))
  return { lines, ok, rest: ok ? Buffer.from(reader.rest()).toString('latin1') : null }
}
const octets = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('lines', () => {
  it('end at LF alone: a CR before it belongs to the line', () => {
    expect(read([octets('a\r\nb\rc\n\nd')])).toEqual({
      lines: ['a\r', 'b\rc', ''],
      ok: true,
      rest: 'd',
    })
  })

  it('are the same however the reads cut them', () => {
    const text = fc.array(fc.constantFrom('\n', '\r', '{"a":1}', 'x', 'é'), { maxLength: 40 })
    fc.assert(
      fc.property(text, fc.array(fc.nat()), fc.constantFrom(3, 1000), (pieces, places, max) => {
        const whole = octets(pieces.join(''))
        const at = [...new Set(places.map((place) => place % (whole.length + 1)))].sort(
          (a, b) => a - b,
        )
        const cut = [0, ...at].map((from, nth) => whole.subarray(from, at[nth] ?? whole.length))
        expect(read(cut, max)).toEqual(read([whole], max))
        expect(
          read(
            Array.from(whole, (octet) => Uint8Array.of(octet)),
            max,
          ),
        ).toEqual(read([whole], max))
      }),
    )
  })

  it('are what splitting the whole text gives', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (chunks) => {
        const whole = Buffer.concat(chunks).toString('latin1').split('\n')
        expect(read(chunks)).toEqual({ lines: whole.slice(0, -1), ok: true, rest: whole.at(-1) })
      }),
    )
  })

  it('that are too long end the reading, finished or not', () => {
    expect(read([octets('1234\n5678\n')], 4)).toMatchObject({ lines: ['1234', '5678'], ok: true })
    expect(read([octets('1234\n56789\nx\n')], 4)).toMatchObject({ lines: ['1234'], ok: false })
    expect(read([octets('123'), octets('45')], 4)).toMatchObject({ lines: [], ok: false })
  })

  it('are blank when they hold nothing but white space', () => {
    for (const line of ['', '\r', ' \t\r']) expect(isBlank(octets(line))).toBe(true)
    for (const line of ['x', ' 0', '\0', '\u00a0']) expect(isBlank(octets(line))).toBe(false)
  })
})
