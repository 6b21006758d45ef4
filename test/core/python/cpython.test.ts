import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse } from '../../../src/core/json/parse.js'
import { byCodePoint } from '../../../src/core/python/code-points.js'
import { dumps, quoteAscii, quoteUnicode } from '../../../src/core/python/dumps.js'
import { pythonFloat, pythonNumber } from '../../../src/core/python/number.js'
import { missingPython, needs } from '../../support/needs.js'

const { it: withPython } = needs(missingPython())

type Form = 'ascii' | 'unicode'
/** What we write; null where there is no canonical form. */
function ours(text: string, form: Form): string | null {
  const parsed = parse(text, { loneSurrogates: form === 'ascii', maxDepth: 1000 })
  if (!parsed.ok) return null
  try {
    return dumps(parsed.value, { quote: form === 'ascii' ? quoteAscii : quoteUnicode })
  } catch {
    return null
  }
}
function pythons(texts: readonly string[], form: Form): (string | null)[] {
  const input = texts.map((text) => Buffer.from(text).toString('base64')).join('\n')
  const script = join(import.meta.dirname, 'cpython.py')
  const { stdout, status, stderr } = spawnSync('python3', [script, form], {
    input,
    maxBuffer: 1 << 30,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => (line === '-' ? null : Buffer.from(line, 'base64').toString('utf8')))
}

/** A generator of its own: a hundred thousand texts must not take minutes to make. */
function randoms(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 4294967296
  }
  const below = (most: number): number => Math.floor(next() * most)
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T
  const digits = (most: number): string =>
    Array.from({ length: 1 + below(most) }, () => below(10)).join('')
  const number = (): string => {
    const sign = next() < 0.3 ? '-' : ''
    const whole = next() < 0.3 ? '0' : digits(20).replace(/^0+(?=.)/, '')
    const fraction = next() < 0.5 ? '' : `.${digits(18)}`
    const exponent = next() < 0.7 ? '' : `${pick(['e', 'E'])}${pick(['', '+', '-'])}${below(400)}`
    if (next() < 0.2) {
      const bits = new DataView(new ArrayBuffer(8))
      bits.setUint32(0, below(4294967296))
      bits.setUint32(4, below(4294967296))
      const double = bits.getFloat64(0)
      if (Number.isFinite(double)) return String(double)
    }
    return `${sign}${whole}${fraction}${exponent}`
  }
  const character = (): string => {
    switch (below(9)) {
      case 0:
        return pick(['\\n', '\\t', '\\b', '\\f', '\\r', '\\"', '\\\\', '\\/'])
      case 1:
        return `\\u${below(65536).toString(16).padStart(4, '0')}`
      case 2:
        return `\\u${(0xd800 + below(1024)).toString(16)}\\u${(0xdc00 + below(1024)).toString(16)}`
      case 3:
        return String.fromCodePoint(0x1f000 + below(4096))
      case 4:
        return pick(['\u007f', '\u2028', '\u2029', '\ue000', '\uffff', 'é', '字', '/'])
      default:
        return pick([...'abcXYZ019 _-'])
    }
  }
  const text = (): string => `"${Array.from({ length: below(8) }, character).join('')}"`
  const value = (depth: number): string => {
    const space = next() < 0.1 ? pick([' ', '\n', '\t ']) : ''
    switch (depth <= 0 ? below(4) : below(7)) {
      case 0:
        return `${space}${number()}`
      case 1:
        return `${text()}${space}`
      case 2:
        return pick(['true', 'false', 'null'])
      case 3:
        return number()
      case 4:
        return `[${Array.from({ length: below(4) }, () => value(depth - 1)).join(`${space},`)}]`
      default: {
        const members = Array.from({ length: below(5) }, () => `${text()}:${value(depth - 1)}`)
        return `{${members.join(',')}${space}}`
      }
    }
  }
  return () => value(4)
}

describe('a JSON value', () => {
  for (const [form, count] of [
    ['unicode', 60_000],
    ['ascii', 40_000],
  ] as const) {
    withPython(
      `is written as CPython writes it: ${form}, ${count} random ones`,
      () => {
        const make = randoms(form === 'ascii' ? 7 : 11)
        const texts = Array.from({ length: count }, make)
        const theirs = pythons(texts, form)
        const differ = texts.filter((text, index) => {
          const own = ours(text, form)
          const their = theirs[index] as string | null
          return own !== their
        })
        expect(differ.slice(0, 5)).toEqual([])
        expect(theirs.filter((text) => text === null).length).toBeLessThan(count / 2)
      },
      120_000,
    )
  }

  /** Where no python3 is: as it wrote them. */
  it.each([
    ['{"b":1,"a":1.0}', '{"a":1.0,"b":1}'],
    [
      '[1e-7, 0.00005, -0.0, -0, 1e16, 1E5, 123456789012345680.0]',
      '[1e-07,5e-05,-0.0,0,1e+16,100000.0,1.2345678901234568e+17]',
    ],
    [
      '[9007199254740993, 0.1, 1e22, 5e-324, 0.0001, 9999999999999998.0]',
      '[9007199254740993,0.1,1e+22,5e-324,0.0001,9999999999999998.0]',
    ],
    ['{"\\ud83d\\ude00":1,"\ue000":2}', '{"\ue000":2,"😀":1}'],
    ['"\\u0000\\u001f\\u007f\\/\\b\\u2028"', '"\\u0000\\u001f\u007f/\\b\u2028"'],
  ])('%s', (text, written) => {
    expect(ours(text, 'unicode')).toBe(written)
  })

  it.each([
    '1e400',
    '[-1e999]',
    'NaN',
    '{"a":1,"a":2}',
    '"\\ud800"',
    '1'.repeat(4301),
    `${'['.repeat(1001)}${']'.repeat(1001)}`,
    '{"a":1} x',
  ])('%# has no canonical form', (text) => {
    expect(ours(text, 'unicode')).toBeNull()
  })

  it('is escaped to ASCII one half of a pair at a time', () => {
    expect(ours('"é\\ud800😀\\u007f"', 'ascii')).toBe('"\\u00e9\\ud800\\ud83d\\ude00\\u007f"')
  })
})

describe('numbers', () => {
  it('are those of repr', () => {
    expect([1, 0.5, 1e21, 1e16, 1e15, 0.0001, 0.00001].map(pythonFloat)).toEqual([
      '1.0',
      '0.5',
      '1e+21',
      '1e+16',
      '1000000000000000.0',
      '0.0001',
      '1e-05',
    ])
    expect([pythonFloat(Number.NaN), pythonNumber('1e309')]).toEqual([null, null])
  })
})

describe('names', () => {
  it('are in the order of their code points', () => {
    const names = ['😀', '\ue000', 'a', '', 'b', '\ud7ff', '\uffff', 'ab', '😀a', '𐀀']
    const sorted = [...names].sort(byCodePoint)
    const points = (text: string): number[] => [...text].map((each) => each.codePointAt(0) ?? 0)
    for (const [index, name] of sorted.entries()) {
      const next = sorted[index + 1]
      if (next === undefined) continue
      const [x, y] = [points(name), points(next)]
      const at = x.findIndex((point, i) => point !== y[i])
      expect(at === -1 ? x.length < y.length : (y[at] ?? -1) > (x[at] as number)).toBe(true)
    }
  })
})
