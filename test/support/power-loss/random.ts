/** A small generator with a seed, so that a failing run can be run again. */
export type Random = {
  /** From 0 up to, not including, `below`. */
  below(below: number): number
  chance(of: number): boolean
  pick<T>(from: readonly T[]): T
}

export function randomFrom(seed: number): Random {
  // mulberry32: neighbouring seeds give unrelated numbers.
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    chance: (of) => next() < of,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
  }
}
