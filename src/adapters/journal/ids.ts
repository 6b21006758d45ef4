import { candidateIds, isIndexedType } from '../../core/journal/line.js'

/**
 * Where ids stand in one segment. Ids are kept as 64-bit keys, not text: a substring would keep its
 * whole line alive. Two ids with one key cost a needless read, never a wrong answer.
 */
export type IdKey = { readonly high: number; readonly low: number }

export type IdTable = {
  readonly count: number
  high(entry: number): number
  low(entry: number): number
  offset(entry: number): number
  add(key: IdKey, offset: number): void
  /** Offsets of lines that may name the id, newest first, each once. */
  offsets(key: IdKey): number[]
}

/** Two FNV-1a runs with different starts: spread matters here, resistance does not. */
export function idKey(id: string): IdKey {
  let high = 0x811c9dc5
  let low = 0x050c5d1f
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ code, 0x01000193) ^ (low >>> 15)
  }
  return { high: high >>> 0, low: low >>> 0 }
}

const NONE: readonly IdKey[] = []

/** The keys of one line's ids; its text is only made when the type is indexed. */
export function idKeysOf(type: string, text: () => string): readonly IdKey[] {
  if (!isIndexedType(type)) return NONE
  const keys: IdKey[] = []
  candidateIds(text(), (id) => keys.push(idKey(id)))
  return keys
}

const FIELDS = 3

export function newIdTable(): IdTable {
  let data = new Uint32Array(FIELDS * 1024)
  let count = 0
  const field = (entry: number, at: number): number => data[entry * FIELDS + at] as number
  return {
    get count() {
      return count
    },
    high: (entry) => field(entry, 0),
    low: (entry) => field(entry, 1),
    offset: (entry) => field(entry, 2),
    add(key, offset) {
      if ((count + 1) * FIELDS > data.length) {
        const grown = new Uint32Array(data.length * 2)
        grown.set(data)
        data = grown
      }
      data[count * FIELDS] = key.high
      data[count * FIELDS + 1] = key.low
      data[count * FIELDS + 2] = offset
      count++
    },
    offsets(key) {
      const found = new Set<number>()
      for (let entry = count - 1; entry >= 0; entry--) {
        if (field(entry, 0) === key.high && field(entry, 1) === key.low) found.add(field(entry, 2))
      }
      return [...found]
    },
  }
}
