import { describe, expect, it } from '@jest/globals'
import { decode as cborgDecode, encode as cborgEncode } from 'cborg'
import fc from 'fast-check'
import { type Cbor, type CborKey, CborTag, decodeCbor } from '../../../src/core/bytes/cbor.js'
import { encodeCbor } from '../../../src/core/bytes/cbor-encode.js'

const from = (text: string): Uint8Array =>
  new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const to = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const code = (text: string): string => {
  const read = decodeCbor(from(text))
  return read.ok ? 'accepted' : read.code
}
const nested = (depth: number): string => `${'81'.repeat(depth)}00`

describe('reading refuses', () => {
  it.each([
    ['nothing at all', '', 'truncated'],
    ['an indefinite byte string', '5f4101ff', 'indefinite'],
    ['an indefinite text string', '7f6161ff', 'indefinite'],
    ['an indefinite array', '9f01ff', 'indefinite'],
    ['an indefinite map', 'bf0102ff', 'indefinite'],
    ['a lone break', 'ff', 'indefinite'],
    ['23 in two bytes', '1817', 'non_minimal'],
    ['255 in three bytes', '1900ff', 'non_minimal'],
    ['65535 in five bytes', '1a0000ffff', 'non_minimal'],
    ['2^32−1 in nine bytes', '1b00000000ffffffff', 'non_minimal'],
    ['a negative in too many bytes', '3817', 'non_minimal'],
    ['a non-minimal byte string length', '580101', 'non_minimal'],
    ['a non-minimal text length', '780161', 'non_minimal'],
    ['a non-minimal array length', '980100', 'non_minimal'],
    ['a non-minimal map length', 'b8010102', 'non_minimal'],
    ['a reserved head', '1c', 'reserved'],
    ['a half float', 'f93c00', 'float'],
    ['a single float', 'fa3f800000', 'float'],
    ['a double', 'fb3ff0000000000000', 'float'],
    ['undefined', 'f7', 'simple'],
    ['a simple value', 'f0', 'simple'],
    ['true in two bytes', 'f815', 'simple'],
    ['two equal integer keys', 'a2 0100 0101', 'duplicate_key'],
    ['two equal text keys', 'a2 616100 616101', 'duplicate_key'],
    ['equal keys three levels down', 'a1 01 82 00 a1 02 a2 2000 2001', 'duplicate_key'],
    ['two equal 64-bit keys', 'a2 1bffffffffffffffff00 1bffffffffffffffff00', 'duplicate_key'],
    ['a byte string as a key', 'a1 410100', 'key_type'],
    ['null as a key', 'a1 f600', 'key_type'],
    ['an array as a key', 'a1 8000', 'key_type'],
    ['bytes after the value', '0000', 'trailing'],
    ['a stray continuation byte', '6180', 'not_utf8'],
    ['an overlong form', '62c080', 'not_utf8'],
    ['an encoded surrogate', '63eda080', 'not_utf8'],
    ['seventeen levels', nested(17), 'too_deep'],
    ['a string longer than the input', '5a7fffffff', 'truncated'],
    ['a string of 2^64−1 bytes', '5bffffffffffffffff', 'truncated'],
    ['an array of 2^63−1', '9b7fffffffffffffff', 'truncated'],
    ['a map of 2^32−1', 'baffffffff', 'truncated'],
    ['a map that can hold no such count', 'a2 01 02 03', 'truncated'],
    ['tag 18 inside', 'd280', 'tag'],
    ['tag 1 where nobody asked for it', 'c100', 'tag'],
    ['a big number tag', 'c24101', 'tag'],
  ])('%s: %s → %s', (_, text, expected) => {
    expect(code(text)).toBe(expected)
  })

  it('more than 1 MiB before reading it', () => {
    const large = new Uint8Array(1024 * 1024 + 1)
    expect(decodeCbor(large)).toEqual({ ok: false, code: 'too_large', at: 1024 * 1024 })
  })

  it('a date tag over anything but an integer, even where dates are allowed', () => {
    expect(decodeCbor(from('c11a5f5e1000'), { epochTag: true })).toEqual({
      ok: true,
      value: new CborTag(1600000000),
    })
    for (const text of ['c16131', 'c1c100', 'c0c100', 'd80100', 'c1f93c00']) {
      expect(decodeCbor(from(text), { epochTag: true }).ok).toBe(false)
    }
  })
})

describe('reading accepts', () => {
  it('sixteen levels, and unsorted maps', () => {
    expect(code(nested(16))).toBe('accepted')
    expect(decodeCbor(from('a3 0300 0f00 0100'))).toEqual({
      ok: true,
      value: new Map([
        [3, 0],
        [15, 0],
        [1, 0],
      ]),
    })
  })

  it.each<[string, number | bigint]>([
    ['1b001fffffffffffff', Number.MAX_SAFE_INTEGER],
    ['1b0020000000000000', 9007199254740992n],
    ['1bffffffffffffffff', 18446744073709551615n],
    ['3b001ffffffffffffe', Number.MIN_SAFE_INTEGER],
    ['3b001fffffffffffff', -9007199254740992n],
    ['3bffffffffffffffff', -18446744073709551616n],
  ])('%s as %s, safe integers as numbers and others as bigints', (text, value) => {
    expect(decodeCbor(from(text))).toEqual({ ok: true, value })
    expect(to(encodeCbor(value))).toBe(text)
  })
})

describe('writing refuses what has no honest encoding', () => {
  it.each<[string, Cbor]>([
    ['a float', 1.5],
    ['an unsafe number', 2 ** 53],
    ['NaN', Number.NaN],
    ['a 65-bit integer', 1n << 64n],
    ['a lone surrogate', '\ud800'],
    ['a tag', new CborTag(1)],
    [
      '1 and 1n as two keys',
      new Map<CborKey, Cbor>([
        [1, 0],
        [1n, 0],
      ]),
    ],
  ])('%s', (_, value) => {
    expect(() => encodeCbor(value)).toThrow(TypeError)
  })
})

const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -300, max: 70000 }),
  fc.bigInt({ min: 1n << 53n, max: (1n << 64n) - 1n }),
  fc.bigInt({ min: -(1n << 64n), max: -(1n << 53n) }),
)
const text = fc.string({ unit: 'grapheme' })
const { value: anyValue } = fc.letrec<{ value: Cbor }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    integer,
    text,
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc
      .uniqueArray(
        fc.tuple(fc.oneof(fc.integer({ min: -70000, max: 70000 }), text), tie('value')),
        {
          selector: ([key]) => key,
          maxLength: 6,
        },
      )
      .map((entries): Cbor => new Map<CborKey, Cbor>(entries)),
  ),
}))

describe('against cborg', () => {
  it('our bytes are its bytes for every value', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(to(encodeCbor(value))).toBe(to(cborgEncode(value, { float64: true })))
      }),
      { numRuns: 500 },
    )
  })

  it('reading what was written gives it back', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(decodeCbor(encodeCbor(value))).toEqual({ ok: true, value })
      }),
      { numRuns: 500 },
    )
  })

  it('whatever we accept of damaged bytes it reads the same, and we never throw', () => {
    const strict = {
      strict: true,
      rejectDuplicateMapKeys: true,
      useMaps: true,
      allowIndefinite: false,
    }
    const damaged = fc
      .tuple(anyValue, fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([v, at, byte]) => {
        const bytes = encodeCbor(v)
        bytes[at % bytes.length] = byte
        return bytes
      })
    let accepted = 0
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 40 })), (bytes) => {
        const ours = decodeCbor(bytes)
        if (!ours.ok) return
        accepted++
        expect(ours.value).toEqual(cborgDecode(bytes, strict))
      }),
      { numRuns: 3000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })
})
