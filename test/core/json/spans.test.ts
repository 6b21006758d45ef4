import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parse } from '../../../src/core/json/parse.js'
import { elementsOf, membersOf } from '../../../src/core/json/spans.js'

const space = fc
  .array(fc.constantFrom(' ', '\t', '\n', '\r'), { maxLength: 3 })
  .map((s) => s.join(''))
/** A name or string as a sender may write it: some characters escaped that need not be. */
const written = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.boolean())
  .map(([text, escaped]) =>
    escaped
      ? `"${[...text]
          .flatMap((c) => c.split(''))
          .map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join('')}"`
      : JSON.stringify(text),
  )
const text: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(written, fc.constantFrom('null', 'true', 'false', '-0', '1.50', '1e3', '[]', '{}'))
    : fc.oneof(text(1), object(depth - 1), array(depth - 1)),
)
const array: fc.Memo<string> = fc.memo((depth) =>
  fc
    .array(fc.tuple(space, text(depth), space), { maxLength: 4 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
)
const object: fc.Memo<string> = fc.memo((depth) =>
  fc
    .uniqueArray(fc.tuple(space, written, space, space, text(depth), space), {
      maxLength: 4,
      selector: ([, name]) => JSON.parse(name) as string,
    })
    .map(
      (members) =>
        `{${members.map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`).join(',')}}`,
    ),
)

describe('where the parts of a JSON text stand', () => {
  it('gives every member of an object with the very text of its value', () => {
    fc.assert(
      fc.property(space, object(4), space, (before, given, after) => {
        const all = `${before}${given}${after}`
        const parsed = JSON.parse(all) as Record<string, unknown>
        const members = membersOf(all)
        expect(members.map(({ name }) => name).sort()).toEqual(Object.keys(parsed).sort())
        for (const { name, value, text: whole } of members) {
          expect(JSON.parse(value)).toEqual(parsed[name])
          expect(given).toContain(value)
          expect(JSON.parse(`{${whole}}`)).toEqual({ [name]: parsed[name] })
        }
        // Put together again, it is the same object.
        expect(JSON.parse(`{${members.map((member) => member.text).join(',')}}`)).toEqual(parsed)
      }),
    )
  })

  it('gives every element of an array', () => {
    fc.assert(
      fc.property(space, array(4), (before, given) => {
        const parsed = JSON.parse(given) as unknown[]
        expect(elementsOf(`${before}${given}`).map((element) => JSON.parse(element))).toEqual(
          parsed,
        )
      }),
    )
  })

  it('is asked only about what the strict parser has accepted', () => {
    expect(parse('{"a":1,"a":2}').ok).toBe(false)
    expect(membersOf('{}')).toEqual([])
    expect(elementsOf(' [ ] ')).toEqual([])
    expect(membersOf('{"a\\\\":"\\\\\\"","b":1}').map(({ name }) => name)).toEqual(['a\\', 'b'])
  })
})
