/**
 * In which slots a scope's key may be: an open-addressed table of (tag prefix, slot), sixteen bytes or less
 * per key, because a store may have millions of subjects. The slot itself holds the whole tag to compare.
 */
export function createSlotTable() {
  let capacity = 1024
  let used = 0
  // Pairs: prefix, slot. Slot 0 is the file's head, so it marks an empty pair.
  let table = new Uint32Array(capacity * 2)

  function insert(prefix: number, slot: number): void {
    let at = prefix % capacity
    while (table[at * 2 + 1] !== 0) at = (at + 1) % capacity
    table[at * 2] = prefix
    table[at * 2 + 1] = slot
  }
  return {
    add(tag: Buffer, slot: number): void {
      if (++used * 2 > capacity) {
        const old = table
        capacity *= 2
        table = new Uint32Array(capacity * 2)
        for (let i = 0; i < old.length; i += 2) {
          if (old[i + 1] !== 0) insert(old[i] as number, old[i + 1] as number)
        }
      }
      insert(tag.readUInt32BE(0), slot)
    },
    *candidates(tag: Buffer): Generator<number> {
      const prefix = tag.readUInt32BE(0)
      for (let at = prefix % capacity; table[at * 2 + 1] !== 0; at = (at + 1) % capacity) {
        if (table[at * 2] === prefix) yield table[at * 2 + 1] as number
      }
    },
  }
}
