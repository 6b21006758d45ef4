import { utf8 } from '../../bytes/text.js'
import type { Hashing } from '../../crypto/crypto.js'

const WORDS = 4
const FIRST_ROOM = 1024

/**
 * Every action id of a journal, in 16 octets each: the beginning of its SHA-256, so that two ids practically never
 * share it. The function adds an id; false when it was there already.
 */
export function createActionIds(crypto: Hashing): (id: string) => boolean {
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

  return (id) => {
    const bytes = crypto.sha256(utf8(id))
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16)
    const [a, b] = [view.getUint32(0), view.getUint32(4)]
    const [c, d] = [view.getUint32(8), view.getUint32(12)]
    const { at, found } = slotOf(a, b, c, d)
    if (found) return false
    table.set([a, b, c, d], at)
    count++
    if (count * 3 > room * 2) grow()
    return true
  }
}
