import { createHash } from 'node:crypto'

/** Draws that a seed repeats: the same seed and the same questions give the same answers. */
export type Random = {
  /** From 0 to below `below`. */
  int(below: number): number
  pick<T>(of: readonly T[]): T
  /** Long and new with every draw: a value to be looked for. */
  mark(): string
}

export function randomOf(seed: string): Random {
  let state = createHash('sha256').update(seed).digest()
  let at = 0
  const word = (): number => {
    if (at + 4 > state.length) {
      state = createHash('sha256').update(state).digest()
      at = 0
    }
    at += 4
    return state.readUInt32BE(at - 4)
  }
  const int = (below: number): number => word() % Math.max(1, below)
  return {
    int,
    pick<T>(of: readonly T[]): T {
      if (of.length === 0) throw new TypeError('there is nothing to pick from')
      return of[int(of.length)] as T
    },
    mark: () =>
      Array.from({ length: 6 }, () => word().toString(16).padStart(8, '0'))
        .join('')
        .replace(/^/, 'forged-'),
  }
}
