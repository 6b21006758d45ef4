import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { html } from '../../../src/mounts/approver/html.js'
import { left } from '../../../src/mounts/approver/words.js'

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
}
const read = (markup: string): string =>
  markup.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => NAMED[name] ?? '')
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", '&lt;', '</style>', '=', ' ', 'a') }),
)

describe('html', () => {
  it('lets no text out of its place, and none changes on the way to the reader', () => {
    fc.assert(
      fc.property(text, (given) => {
        const { html: out } = html`${given}`
        expect(out).not.toMatch(/[<>"']/)
        expect(read(out)).toBe(given)
      }),
    )
  })

  it('escapes in lists and nested markup alike, and never twice', () => {
    fc.assert(
      fc.property(fc.array(text), (given) => {
        const items = given.map((one) => html`<li>${one}</li>`)
        const { html: out } = html`<ul>${items}${null}</ul>`
        const inner = given.map((one) => `<li>${html`${one}`.html}</li>`).join('')
        expect(out).toBe(`<ul>${inner}</ul>`)
      }),
    )
  })
})

describe('time left', () => {
  it.each([
    [-5, '0 s'],
    [999, '0 s'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h 0 min'],
    [90_061_000, '1 d 1 h'],
  ])('%d ms is %s', (ms, said) => {
    expect(left(ms)).toBe(said)
  })
})
