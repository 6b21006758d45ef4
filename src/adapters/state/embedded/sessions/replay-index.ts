import { hash } from 'node:crypto'

/** Octets kept of each id: enough that no two ever meet by chance. */
const KEY = 16
/** Ids per text of a dump; a full one never changes, so it is made once. */
const PER_CHUNK = 4096

export type ReplayIndex = ReturnType<typeof createReplayIndex>

/**
 * Ids that may never come again (seed intent-declaration-primitive-01 §8.4): 16 octets each, in the order they came,
 * so that equal folds dump equally, and a table of their places by their first octets.
 */
export function createReplayIndex() {
  let keys = Buffer.alloc(KEY * 1024)
  let table = new Uint32Array(2048)
  let count = 0
  let chunks: string[] = []

  const at = (entry: number): Buffer => keys.subarray(entry * KEY, (entry + 1) * KEY)

  /** The slot that holds the key, or the free one where it belongs; a slot has a place from 1, 0 is free. */
  function slotOf(key: Buffer): number {
    const mask = table.length - 1
    let slot = key.readUInt32LE(0) & mask
    for (;;) {
      const place = table[slot] as number
      if (place === 0 || at(place - 1).equals(key)) return slot
      slot = (slot + 1) & mask
    }
  }

  function grow(): void {
    const larger = Buffer.alloc(keys.length * 2)
    keys.copy(larger)
    keys = larger
    table = new Uint32Array(table.length * 2)
    for (let entry = 0; entry < count; entry++) table[slotOf(at(entry))] = entry + 1
  }

  function add(key: Buffer): void {
    if (count * KEY === keys.length) grow()
    const slot = slotOf(key)
    if (table[slot] !== 0) return
    key.copy(keys, count * KEY)
    count++
    table[slot] = count
  }

  return {
    add,
    has: (key: Buffer): boolean => table[slotOf(key)] !== 0,
    size: (): number => count,
    bytes: (): number => keys.length + table.byteLength,
    dump(): string[] {
      while (chunks.length < Math.floor(count / PER_CHUNK)) {
        const from = chunks.length * PER_CHUNK * KEY
        chunks.push(keys.toString('base64url', from, from + PER_CHUNK * KEY))
      }
      const rest = keys.toString('base64url', chunks.length * PER_CHUNK * KEY, count * KEY)
      return rest === '' ? [...chunks] : [...chunks, rest]
    },
    load(dump: readonly string[]): void {
      const read = dump.map((chunk) => Buffer.from(chunk, 'base64url'))
      count = 0
      chunks = []
      let size = 1024
      const wanted = read.reduce((sum, bytes) => sum + bytes.length / KEY, 0)
      while (size < wanted) size *= 2
      keys = Buffer.alloc(KEY * size)
      table = new Uint32Array(2 * size)
      for (const bytes of read) {
        for (let from = 0; from < bytes.length; from += KEY) add(bytes.subarray(from, from + KEY))
      }
    },
  }
}

/** One text of a dump holds whole ids. */
export const isIdText = (text: string): boolean => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length > 0 && bytes.length % KEY === 0 && bytes.toString('base64url') === text
}

/** The key of an id within a scope; no scope holds a line feed. By way of a text, so that no buffer is made for it. */
export const replayKey = (scope: string, id: string): Buffer =>
  Buffer.from(hash('sha256', `${scope}\n${id}`, 'hex').slice(0, 2 * KEY), 'hex')
