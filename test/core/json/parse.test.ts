import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parse } from '../../../src/core/json/parse.js'
import { isFloatToken, isSafeIntegerToken, toPlain } from '../../../src/core/json/value.js'
import { plain, print } from './arbitrary.js'

const refusal = (input: string | Uint8Array): string => {
  const read = parse(input)
  return read.ok ? 'accepted' : read.code
}
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

describe('against JSON.parse', () => {
  it('reads the same value from every valid document, compact or spaced, text or bytes', () => {
    fc.assert(
      fc.property(plain, fc.constantFrom(undefined, 1, '\t', ' \r\n'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        const want = JSON.parse(text)
        for (const input of [text, new TextEncoder().encode(text)]) {
          const read = parse(input)
          expect(read.ok && JSON.stringify(toPlain(read.value))).toBe(JSON.stringify(want))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('reads numbers of every form to the same value and keeps their token', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,3})?$/),
        (token) => {
          const read = parse(token)
          expect(read.ok && toPlain(read.value)).toBe(JSON.parse(token))
          expect(read).toMatchObject({ value: { token } })
        },
      ),
    )
  })

  it('accepts no text that JSON.parse refuses', () => {
    const near = fc.oneof(
      plain
        .map(print)
        .chain((text) =>
          fc
            .tuple(
              fc.nat(text.length),
              fc.constantFrom('', ',', '"', '\\', '}', '0', '-', '\u0001', 'e'),
            )
            .map(([at, patch]) => text.slice(0, at) + patch + text.slice(at + 1)),
        ),
      fc.stringMatching(/^[[\]{}:,"0-9.eE+\-\\ntrufalse \n]{0,24}$/),
    )
    fc.assert(
      fc.property(near, (text) => {
        if (!parse(text).ok) return
        expect(() => JSON.parse(text)).not.toThrow()
      }),
      { numRuns: 3000 },
    )
  })

  it('refuses of what JSON.parse accepts only duplicates, lone surrogates and depth', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(['accepted', 'duplicate_name', 'lone_surrogate']).toContain(refusal(text))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('refusals', () => {
  it('refuses duplicate names, however they are spelt', () => {
    expect(refusal('{"a":1,"a":1}')).toBe('duplicate_name')
    expect(refusal('{"a":1,"\\u0061":2}')).toBe('duplicate_name')
    expect(refusal('[{"x":{"a":1,"b":2,"a":null}}]')).toBe('duplicate_name')
    expect(refusal('{"__proto__":1,"__proto__":2}')).toBe('duplicate_name')
    expect(refusal('{"a":{"a":1},"b":{"a":1}}')).toBe('accepted')
  })

  it('refuses lone surrogates, raw or escaped, in values and names', () => {
    for (const text of [
      '"\ud800"',
      '"\udc00"',
      '"\udc00\ud800"',
      '"\\ud800"',
      '"\\udc00"',
      '"\\ud800\\ud800"',
      '"\\ud800\\ue000"',
      '"\\ud800x"',
      '{"\\udfff":1}',
      '"\ud83d\\ude00"',
      '"\\ud83d\ude00"',
    ])
      expect([text, refusal(text)]).toEqual([text, 'lone_surrogate'])
    expect(parse('"\\ud83d\\ude00"')).toEqual({ ok: true, value: '😀' })
    expect(parse('"😀"')).toEqual({ ok: true, value: '😀' })
  })

  it('refuses a byte order mark and bytes that are not UTF-8', () => {
    expect(refusal('\ufeff{}')).toBe('syntax')
    expect(refusal(bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d))).toBe('syntax')
    for (const bad of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0xaf, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
      [0x22, 0xe2, 0x82, 0x22],
    ])
      expect(refusal(bytes(...bad))).toBe('not_utf8')
    expect(refusal(bytes(0x7b, 0, 0x7d, 0))).toBe('syntax')
  })

  it('refuses what follows the value, and nothing at all', () => {
    for (const text of ['{} {}', '1 2', '[]]', '{}x', 'nullnull', '0 0'])
      expect([text, refusal(text)]).toEqual([text, 'trailing_text'])
    for (const text of ['', ' ', '\n']) expect(refusal(text)).toBe('syntax')
  })

  it('refuses every number RFC 8259 does not know', () => {
    for (const text of [
      '+1',
      '.5',
      '1.',
      '01',
      '-',
      '-01',
      '1e',
      '1e+',
      '0x1',
      'NaN',
      'Infinity',
      '1_0',
      '٣',
    ])
      expect(['syntax', 'trailing_text']).toContain(refusal(text))
  })

  it('refuses other syntax JSON does not have', () => {
    for (const text of [
      '{"a":1,}',
      '[1,]',
      '[,1]',
      '{,}',
      "{'a':1}",
      '{a:1}',
      '"\t"',
      '"\\x"',
      '"\\u12g4"',
      '"\\u123',
      '/**/1',
      '"',
      '[',
      '{',
      '{"a"',
      '{"a":',
      'tru',
      'nul',
      '\v1',
      '\u00a01',
      '\f1',
    ])
      expect([text, refusal(text)]).toEqual([text, 'syntax'])
  })

  it('refuses depth and size past the limits and takes both at the limit', () => {
    const deep = (n: number): string => '['.repeat(n) + ']'.repeat(n)
    expect(refusal(deep(128))).toBe('accepted')
    expect(refusal(deep(129))).toBe('too_deep')
    expect(refusal('{"a":'.repeat(1_000_000))).toBe('too_deep')
    expect(parse('[1]', { maxBytes: 3 }).ok).toBe(true)
    expect(parse('[10]', { maxBytes: 3 })).toMatchObject({ ok: false, code: 'too_large' })
    expect(parse(deep(3), { maxDepth: 2 })).toMatchObject({ ok: false, code: 'too_deep', at: 2 })
  })
})

describe('values', () => {
  it('keeps __proto__ and its kin as data', () => {
    const read = parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}')
    if (!read.ok || !(read.value instanceof Map)) throw new Error('not read')
    expect([...read.value.keys()]).toEqual(['__proto__', 'constructor', 'toString'])
    const value = toPlain(read.value) as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(Object.getPrototypeOf(value)).toBeNull()
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('tells floats by their spelling and safe integers by their value', () => {
    expect(['1.0', '1e2', '-0.0', '1E400'].every(isFloatToken)).toBe(true)
    expect(['0', '-1', '9007199254740991'].some(isFloatToken)).toBe(false)
    const safe = ['0', '-0', '9007199254740991', '-9007199254740991', '999999999999999']
    const unsafe = [
      '9007199254740992',
      '9007199254740993',
      '-9007199254740992',
      '1'.repeat(400),
      '1.0',
    ]
    expect(safe.filter((token) => !isSafeIntegerToken(token))).toEqual([])
    expect(unsafe.filter(isSafeIntegerToken)).toEqual([])
  })
})
