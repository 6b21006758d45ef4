import { utf8 } from '../../bytes/text.js'
import type { Hashing } from '../../crypto/crypto.js'

const WORDS = 4
const FIRST_ROOM = 1024

export type IdSet = {
  /** False when it was there already. */
  add(id: string): boolean
  has(id: string): boolean
}

/**
 * Ids of a whole journal, in 16 octets each: the beginning of its SHA-256, so that two ids practically never
 * share it.
 */
export function createIdSet(crypto: Hashing): IdSet {
  let room = FIRST_ROOM
  let table = new Uint32Array(room * WORDS)
  let count = 0

  /** Open addressing: the slot of the key, or the free one where it belongs. */
  function slotOf(a: number, b: number, c: number, d: number): { at: number; found: boolean } {
    for (let slot = a % room; ; slot = (slot + 1) % room) {
      const at = slot * WORDS
      if (isFree(at)) return { at, found: false }
      const same =
        table[at] === a && table[at + 1] === b && table[at + 2] === c && table[at + 3] === d
      if (same) return { at, found: true }
    }
  }
  const isFree = (at: number): boolean =>
    table[at] === 0 && table[at + 1] === 0 && table[at + 2] === 0 && table[at + 3] === 0

  function grow(): void {
    const old = table
    room *= 2
    table = new Uint32Array(room * WORDS)
    for (let at = 0; at < old.length; at += WORDS) {
      const [a = 0, b = 0, c = 0, d = 0] = old.subarray(at, at + WORDS)
      if (a !== 0 || b !== 0 || c !== 0 || d !== 0) table.set([a, b, c, d], slotOf(a, b, c, d).at)
    }
  }

  function keyOf(id: string): readonly [number, number, number, number] {
    const bytes = crypto.sha256(utf8(id))
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16)
    return [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)]
  }

  return {
    add(id) {
      const key = keyOf(id)
      const { at, found } = slotOf(...key)
      if (found) return false
      table.set(key, at)
      count++
      if (count * 3 > room * 2) grow()
      return true
    },
    has: (id) => slotOf(...keyOf(id)).found,
  }
}
