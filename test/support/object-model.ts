import fc from 'fast-check'
import type { ObjectModel } from '../../src/core/manifest/model.js'

/** A random object with so many states `s0`, `s1`, … and actions `a0`, `a1`, … between them. */
export const objectModel = (states: number, most = 2 * states): fc.Arbitrary<ObjectModel> =>
  fc
    .array(
      fc.record({
        from: fc.uniqueArray(fc.nat(states - 1), { minLength: 1, maxLength: 4 }),
        to: fc.nat(states - 1),
      }),
      { maxLength: most, size: 'max' },
    )
    .map((edges) => ({
      type: 'order',
      id: '{order}',
      states: Array.from({ length: states }, (_, nth) => `s${nth}`),
      transitions: Object.fromEntries(
        edges.map(({ from, to }, nth) => [
          `a${nth}`,
          { from: from.map((state) => `s${state}`), to: `s${to}` },
        ]),
      ),
    }))
