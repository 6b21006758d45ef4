import { describe, expect, it } from '@jest/globals'
import canonicalizePackage from 'canonicalize'
import fc from 'fast-check'
import { canonicalOf, normalize } from '../../../src/core/json/build.js'
import { canonical, canonicalNormalized } from '../../../src/core/json/canonical.js'
import { parse } from '../../../src/core/json/parse.js'
import { isNormalText, plainText } from '../../../src/core/json/plain-text.js'
import type { Plain } from '../../../src/core/json/value.js'

/** The cross-check: somebody else's JCS. */
const canonicalize = canonicalizePackage as unknown as (value: unknown) => string | undefined

const plain: fc.Arbitrary<Plain> = fc.letrec<{ value: Plain }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger().map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('\u2028', '"\\', '\u0000', '😀', '\ufffe', '__proto__'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 6 }), tie('value'), { maxKeys: 5 }),
  ),
})).value

describe('the one-pass writer of built values', () => {
  it('agrees with `canonicalize` and with the writer over parsed trees', () => {
    fc.assert(
      fc.property(plain, (value) => {
        const text = plainText(value, 'as_is')
        expect(text).toBe(canonicalize(value))
        expect(canonicalOf(value)).toBe(text)
        const normal = plainText(value, 'normalized')
        expect(normal).toBe(canonicalize(normalize(value)))
        if (isNormalText(text)) expect(normal).toBe(text)
        const parsed = parse(text)
        if (!parsed.ok) throw new Error(parsed.code)
        expect(canonical(parsed.value)).toBe(text)
        expect(canonicalNormalized(parsed.value)).toBe(normal)
      }),
      { numRuns: 500 },
    )
  })

  it('refuses what has no reproducible digest', () => {
    for (const value of [
      1.5,
      Number.NaN,
      2 ** 53,
      -0,
      '\ud800',
      { '\udc00': 1 },
      [Number.POSITIVE_INFINITY],
    ] as Plain[]) {
      expect(() => plainText(value, 'normalized')).toThrow(TypeError)
      expect(() => plainText({ a: [value] }, 'as_is')).toThrow(TypeError)
    }
  })

  it('refuses what is no JSON value, at any depth', () => {
    const hole: Plain[] = []
    hole.length = 1
    for (const value of [
      undefined,
      () => 1,
      Symbol('s'),
      1n,
      new Map([['a', 1]]),
      new Uint8Array(2),
      new Date(0),
      { toJSON: () => 'x' },
      hole,
    ]) {
      expect(() => plainText(value as Plain, 'as_is')).toThrow(TypeError)
      expect(() => canonicalOf([value as Plain])).toThrow(TypeError)
    }
  })

  it('knows a text that normalization changes from one that it does not', () => {
    expect(isNormalText('{"a":[1],"b":{"c":""}}')).toBe(true)
    for (const text of ['{"a":null}', '{"a":[]}', '{"a":[{}]}', '{"a":{"b":{}}}']) {
      expect(isNormalText(text)).toBe(false)
    }
  })

  it('leaves out undefined members and keeps empty elements', () => {
    expect(plainText({ a: undefined, b: [{}, [], null, { c: null }] }, 'normalized')).toBe(
      '{"b":[{},[],null,{}]}',
    )
    expect(plainText({ a: [], b: {}, c: null }, 'normalized')).toBe('{}')
    expect(plainText({ a: [], b: {}, c: null }, 'as_is')).toBe('{"a":[],"b":{},"c":null}')
  })
})
