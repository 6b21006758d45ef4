import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { canonicalOf, jsonDigest, jsonDigestOf, normalize } from '../../../src/core/json/build.js'
import {
  canonical,
  canonicalNormalized,
  canonicalOfSource,
  numberFaults,
} from '../../../src/core/json/canonical.js'
import { parse, parseSourced } from '../../../src/core/json/parse.js'
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  type Plain,
} from '../../../src/core/json/value.js'
import { plain, print } from './arbitrary.js'

const tree = (text: string): JsonValue => {
  const read = parse(text)
  if (!read.ok) throw new Error(`${read.code}: ${text}`)
  return read.value
}
const hexOf = (text: string): string => createHash('sha256').update(text).digest('hex')
/** Both writers on one text: over the tree, and over the plain value. */
const both = (text: string): [string | null, string] => [
  canonical(tree(text)),
  canonicalOf(JSON.parse(text)),
]

describe('RFC 8785, in both writers', () => {
  const cases: Record<string, [input: string, output: string]> = {
    'sorts names by UTF-16 code units (§3.2.3)': [
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
    'sorts names at every depth and keeps array order (§3.2.3)': [
      '{"b":[{"z":1,"a":2},3,1],"a":{"y":null,"x":false}}',
      '{"a":{"x":false,"y":null},"b":[{"a":2,"z":1},3,1]}',
    ],
    'writes the two-letter escapes and \\u00xx in lower case (§3.2.2.2)': [
      '"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c\\u0000\\u001F\\u000B"',
      '"\\b\\t\\n\\f\\r\\"\\\\\\u0000\\u001f\\u000b"',
    ],
    'leaves everything else raw: slash, DEL, separators, quotes of other kinds (§3.2.2.2)': [
      '"\\/\\u007f\\u0080\\u2028\\u2029\\u0027\\ufeff\\u00e9"',
      '"/\u007f\u0080\u2028\u2029\'\ufeffé"',
    ],
    'does not normalize Unicode (§3.1)': ['["\\u00e9","e\\u0301"]', '["é","e\u0301"]'],
    'writes literals as they are (§3.2.2.1)': [' [ null , true , false ] ', '[null,true,false]'],
    'writes integers of the table as ECMAScript does (§3.2.2.3, appendix B)': [
      '[0,-1,9007199254740991,-9007199254740991]',
      '[0,-1,9007199254740991,-9007199254740991]',
    ],
    'drops space between tokens (§3.2.1)': ['{ "a" :\n[ ]\t}', '{"a":[]}'],
    'keeps a member named __proto__': [
      '{"b":1,"__proto__":{"a":1}}',
      '{"__proto__":{"a":1},"b":1}',
    ],
    'puts a prefix before what it begins': ['{"aa":1,"a":2,"":3}', '{"":3,"a":2,"aa":1}'],
    'does not sort integer-like names as numbers': ['{"10":1,"9":2,"1":3}', '{"1":3,"10":1,"9":2}'],
  }
  for (const [name, [input, output]] of Object.entries(cases))
    it(name, () => {
      expect(both(input)).toEqual([output, output])
    })

  it('writes -0 as 0 where it is read and refuses to build it', () => {
    expect(canonical(tree('-0'))).toBe('0')
    expect(() => canonicalOf(-0)).toThrow(/reproducible/)
  })

  it('gives no canonical form to the numbers of appendix B that are no safe integers', () => {
    for (const token of [
      '5e-324',
      '-5e-324',
      '1.7976931348623157e308',
      '9007199254740992',
      '295147905179352830000',
      '9.999999999999997e22',
      '1e+23',
      '999999999999999700000',
      '333333333.3333332',
      '0.000001',
      '1.0',
      '1e2',
      '-0.0',
      '1E400',
    ]) {
      expect([token, canonical(tree(`[${token}]`))]).toEqual([token, null])
      expect([token, canonicalNormalized(tree(`{"a":[${token}]}`))]).toEqual([token, null])
    }
    for (const value of [0.1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => canonicalOf({ a: [value] })).toThrow(/reproducible/)
  })
})

describe('the two canonicalisers', () => {
  it('agree on every value, plain and normalized, and on its digest', () => {
    fc.assert(
      fc.property(plain, (value) => {
        const read = tree(print(value))
        expect(canonical(read)).toBe(canonicalOf(value))
        expect(canonicalNormalized(read)).toBe(canonicalOf(normalize(value)))
        expect(jsonDigestOf(read, nodeCrypto)).toBe(jsonDigest(value, nodeCrypto))
      }),
      { numRuns: 2000 },
    )
  })

  it('write what reads back to the same text, whatever the member order was', () => {
    const shuffled = (value: Plain): Plain => {
      if (Array.isArray(value)) return value.map(shuffled)
      if (value === null || typeof value !== 'object') return value
      const out: Record<string, Plain> = Object.create(null)
      for (const [name, member] of Object.entries(value).reverse())
        out[name] = shuffled(member as Plain)
      return out
    }
    fc.assert(
      fc.property(plain, (value) => {
        const text = canonical(tree(print(value))) as string
        expect(canonical(tree(text))).toBe(text)
        expect(canonical(tree(print(shuffled(value))))).toBe(text)
      }),
    )
  })
})

describe('a text that is canonical as it stands', () => {
  const names = [
    '',
    ' ',
    '!',
    'a',
    'a!',
    'a ',
    'aa',
    'b',
    'capsule_id',
    'chain',
    'é',
    '😀',
    '\ufb33',
  ]
  const cut = (text: string, without: readonly string[]): string | null => {
    const read = parseSourced(text)
    if (!read.ok) throw new Error(`${read.code}: ${text}`)
    if (read.source === null) return null
    return canonicalOfSource(read.source, read.value as JsonObject, without)
  }
  const root = fc.oneof(
    fc.dictionary(fc.constantFrom(...names), plain, { noNullPrototype: false }),
    plain,
  )

  it('gives by cutting what the writer gives, whichever members are left out', () => {
    let taken = 0
    fc.assert(
      fc.property(root, fc.subarray(names), fc.boolean(), (value, without, tidy) => {
        const text = tidy ? canonicalOf(normalize(value)) : print(value)
        const form = cut(text, without)
        if (form === null) return
        taken++
        expect(form).toBe(canonicalNormalized(tree(text), without))
      }),
      { numRuns: 3000 },
    )
    expect(taken).toBeGreaterThan(300)
  })

  it('is known for every canonical object without escapes, in text and in bytes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), plain), (value) => {
        const text = canonicalOf(normalize(value))
        fc.pre(!text.includes('\\'))
        expect(cut(text, [])).toBe(text)
        expect(parseSourced(new TextEncoder().encode(text))).toEqual(parseSourced(text))
      }),
      { numRuns: 1000 },
    )
  })

  it('is not claimed for anything the writer would change', () => {
    for (const text of [
      '{"a":null}',
      '{"a":[]}',
      '{"a":{}}',
      '{"a":[{"b":null}]}',
      '{"a":{"b":{}}}',
      '{"b":1,"a":1}',
      '{"a!":1,"a":1}',
      '{" ":1,"":1}',
      '{"\ufb33":1,"😀":1}',
      '{"a":-0}',
      '{"a":1.0}',
      '{"a":1e2}',
      '{"a":9007199254740992}',
      '{"a":"\\u0061"}',
      '{"\\u0061":1}',
      '{"a":"\\/"}',
      ' {"a":1}',
      '{"a":1} ',
      '{ "a":1}',
      '{"a" :1}',
      '{"a": 1}',
      '{"a":1 }',
      '{"a":[1, 2]}',
      '{"a":1,\n"b":2}',
      '[1]',
      '"a"',
    ])
      expect([text, cut(text, [])]).toEqual([text, null])
  })

  it('keeps empty elements of arrays, and the braces when every member goes', () => {
    expect(cut('{"a":[null,[],{}]}', [])).toBe('{"a":[null,[],{}]}')
    expect(cut('{}', ['a'])).toBe('{}')
    expect(cut('{"a":1}', ['a'])).toBe('{}')
    expect(cut('{"a":1,"b":2}', ['a', 'b'])).toBe('{}')
    expect(cut('{"a":1,"b":2,"c":3}', ['a', 'c'])).toBe('{"b":2}')
    expect(cut('{"a":1,"b":2,"c":3}', ['b'])).toBe('{"a":1,"c":3}')
    expect(cut('{"a":"😀","b":2,"é":3}', ['b'])).toBe('{"a":"😀","é":3}')
  })
})

describe('absent-field normalization (seed §2)', () => {
  const cases: [string, string][] = [
    ['{"a":null,"b":[],"c":{},"d":"","e":false,"f":0}', '{"d":"","e":false,"f":0}'],
    ['{"a":{"b":{"c":null}}}', '{}'],
    ['{"a":[null]}', '{"a":[null]}'],
    ['{"a":[[]],"b":[{}]}', '{"a":[[]],"b":[{}]}'],
    ['{"a":[{"x":null}]}', '{"a":[{}]}'],
    ['[]', '[]'],
    ['null', 'null'],
    ['{}', '{}'],
    ['[{"a":{"b":[]}},[],null]', '[{},[],null]'],
  ]
  for (const [input, output] of cases)
    it(`${input} is ${output} in both writers`, () => {
      expect(canonicalNormalized(tree(input))).toBe(output)
      expect(canonicalOf(normalize(JSON.parse(input)))).toBe(output)
      expect(jsonDigest(JSON.parse(input), nodeCrypto)).toBe(hexOf(output))
    })

  it('leaves out the named members of the root and no others', () => {
    const value = tree('{"capsule_id":"x","a":{"capsule_id":"y"},"chain":{"a":1}}')
    expect(canonicalNormalized(value, ['capsule_id', 'chain'])).toBe('{"a":{"capsule_id":"y"}}')
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(canonicalOf(normalize(normalize(value)))).toBe(canonicalOf(normalize(value)))
      }),
    )
  })
})

describe('the builder refuses what is no JSON', () => {
  const hole: unknown[] = [1]
  hole.length = 2
  for (const [name, value] of Object.entries({
    'a hole': hole,
    'undefined in an array': [undefined],
    'a function': { f: () => 1 },
    'a bigint': { n: 1n },
    'a symbol': { s: Symbol('s') },
    'a Date': { d: new Date(0) },
    'a Map, which would be written {}': { m: new Map([['a', 1]]) },
    'a parsed number, which would be written as an object': { n: new JsonNumber('1') },
    bytes: { b: new Uint8Array(2) },
    'a lone surrogate': { s: '\ud800' },
    'a lone surrogate in a name': { '\udfff': 1 },
  }))
    it(name, () => {
      expect(() => jsonDigest(value as Plain, nodeCrypto)).toThrow(TypeError)
      expect(() => canonicalOf(value as Plain)).toThrow(TypeError)
    })
  it('but leaves out an undefined member', () => {
    expect(canonicalOf({ a: undefined, b: 1 })).toBe('{"b":1}')
  })
})

describe('number faults', () => {
  it('names each by path, in document order', () => {
    expect(numberFaults(tree('{"a":[1,1.5,{"b":9007199254740993}],"chain":{"x":1e0}}'))).toEqual([
      { path: '$.a[1]', kind: 'float' },
      { path: '$.a[2].b', kind: 'unsafe_integer' },
      { path: '$.chain.x', kind: 'float' },
    ])
  })

  it('reports a bounded amount whatever it reads', () => {
    const long = 'n'.repeat(100_000)
    const faults = numberFaults(tree(`{"${long}":[${Array(5000).fill('1.5').join(',')}]}`))
    expect(faults.length).toBe(64)
    expect(faults.every(({ path }) => path.length < 100)).toBe(true)
  })
})
