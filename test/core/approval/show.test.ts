import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { quoted, shown, visible } from '../../../src/core/approval/show.js'

describe('visible text', () => {
  it.each([
    ['an ordinary name', 'Zoë O’Neill 名前', 'Zoë O’Neill 名前'],
    ['a right-to-left override', 'pay\u202Egnp.exe', 'pay\\u{202E}gnp.exe'],
    ['isolates', '\u2066x\u2069', '\\u{2066}x\\u{2069}'],
    ['zero width', 'ad\u200Bmin\u2060\uFEFF', 'ad\\u{200B}min\\u{2060}\\u{FEFF}'],
    ['controls and line breaks', 'a\nb\u0000\u001B[2J', 'a\\u{A}b\\u{0}\\u{1B}[2J'],
    ['spaces that are not the space', 'a\u00A0b\u3000c', 'a\\u{A0}b\\u{3000}c'],
    ['blanks that are letters', '\u3164\u2800\uFFA0', '\\u{3164}\\u{2800}\\u{FFA0}'],
    ['tags and variation selectors', 'a\u{E0041}b\uFE0F', 'a\\u{E0041}b\\u{FE0F}'],
    ['a soft hyphen', 'pass\u00ADword', 'pass\\u{AD}word'],
    ['a mark at the start', '\u0301x', '\\u{301}x'],
    ['half a character', '\uD800', '\\u{D800}'],
    ['what poses as spelt out', '\\u{202E}', '\\\\u{202E}'],
  ])('%s', (_, text, expected) => {
    expect(visible(text)).toBe(expected)
  })

  it('shows no two texts alike, and nothing that cannot be seen', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\\', 'u', '{', '}', '2', '0', '"', ' ', '\u200B', '\u202E', '\n'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
    })
    fc.assert(
      fc.property(text, text, (a, b) => {
        if (a !== b) expect(visible(a)).not.toBe(visible(b))
        expect(visible(a)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u)
        expect(quoted(a).slice(1, -1)).not.toMatch(/(?<!\\)(?:\\\\)*"/)
      }),
      { numRuns: 2000 },
    )
  })
})

it('shows a value with its names, so that a text cannot pose as another member', () => {
  expect(shown({ note: 'x", "amount": "1', 'a\u200Bb': [1, true, null], none: [] })).toBe(
    [
      '{',
      '  "note": "x\\", \\"amount\\": \\"1"',
      '  "a\\u{200B}b": [',
      '    1',
      '    true',
      '    null',
      '  ]',
      '  "none": []',
      '}',
    ].join('\n'),
  )
})
