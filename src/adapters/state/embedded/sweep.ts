/**
 * Bounds a map whose members die by time alone: each call looks at a few, round and round, so the
 * cost per line is constant and the dead never outnumber the living for long.
 */
const PER_CALL = 3

export function sweeper<V>(
  map: Map<string, V>,
  isDead: (value: V, time: number) => boolean,
): (time: number) => void {
  let round = map.entries()
  return (time) => {
    for (let looked = 0; looked < PER_CALL; looked++) {
      const next = round.next()
      if (next.done === true) {
        round = map.entries()
        return
      }
      if (isDead(next.value[1], time)) map.delete(next.value[0])
    }
  }
}
