/** Entries looked at per call of a sweep. */
const PER_CALL = 3

/**
 * Bounds a map whose members expire by time alone: each call looks at a few, round and round, so the cost per line
 * is constant and expired members never outnumber the others for long.
 */
export function sweeper<V>(
  map: Map<string, V>,
  isExpired: (value: V, time: number) => boolean,
): (time: number) => void {
  let round = map.entries()
  return (time) => {
    for (let looked = 0; looked < PER_CALL; looked++) {
      const next = round.next()
      if (next.done === true) {
        round = map.entries()
        return
      }
      if (isExpired(next.value[1], time)) map.delete(next.value[0])
    }
  }
}

/** By key: equal folds dump equally, whatever the order of their entries. */
export const sortedValues = <V>(map: ReadonlyMap<string, V>): V[] =>
  [...map.keys()].sort().map((key) => map.get(key) as V)

/** Oldest first. */
export const byOpening = (
  a: { readonly openedAt: string },
  b: { readonly openedAt: string },
): number => (a.openedAt < b.openedAt ? -1 : a.openedAt > b.openedAt ? 1 : 0)
