import fc from 'fast-check'
import type { Plain } from '../../../src/core/json/value.js'

/** JSON that has a digest: safe integers, well-formed text, any nesting, awkward names. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toJSON',
    '',
    '€',
    '\u2028',
    '\u007f',
    '😀',
    'דּ',
    '\r',
  ),
)
const wellFormed = text.filter((value) => !/\p{Surrogate}/u.test(value))

export const plain: fc.Arbitrary<Plain> = fc.letrec<{ value: Plain }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger().map((n) => (Object.is(n, -0) ? 0 : n)),
    wellFormed,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(wellFormed, tie('value')), { maxLength: 5 }).map((entries): Plain => {
      const out: Record<string, Plain> = Object.create(null)
      for (const [name, member] of entries) out[name] = member
      return out
    }),
  ),
})).value

/** Null-prototype objects print `__proto__` as data, which JSON.stringify of a literal cannot hold. */
export const print = (value: Plain): string => JSON.stringify(value)
