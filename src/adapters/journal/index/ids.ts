import { candidateIds, isIndexedType } from '../../../core/journal/line.js'

/**
 * Where ids stand in one segment. Ids are kept as 64-bit keys, not text: a substring would keep its
 * whole line alive. Two ids with one key cost a needless read, never a wrong result.
 */
export type IdKey = { readonly high: number; readonly low: number }

export type IdTable = {
  readonly count: number
  add(key: IdKey, offset: number): void
  /** Offsets of lines that may name the id, newest first, each once. */
  offsets(key: IdKey): number[]
  /** Records {high u32, low u32, offset u32}, big-endian, sorted as `idOrder` says. */
  records(): Buffer
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

/** High, low, offset, and the number of the entry before it in its bucket, from 1; 0 is none. */
const FIELDS = 4

export function newIdTable(): IdTable {
  let data = new Uint32Array(FIELDS * 1024)
  let buckets = new Uint32Array(1024)
  let count = 0
  const field = (entry: number, at: number): number => data[entry * FIELDS + at] as number
  const bucketOf = (low: number): number => low & (buckets.length - 1)
  const link = (entry: number): void => {
    const bucket = bucketOf(field(entry, 1))
    data[entry * FIELDS + 3] = buckets[bucket] as number
    buckets[bucket] = entry + 1
  }
  const grow = (): void => {
    const grown = new Uint32Array(data.length * 2)
    grown.set(data)
    data = grown
    buckets = new Uint32Array(buckets.length * 2)
    for (let entry = 0; entry < count; entry++) link(entry)
  }
  return {
    get count() {
      return count
    },
    add(key, offset) {
      if ((count + 1) * FIELDS > data.length) grow()
      const at = count * FIELDS
      data[at] = key.high
      data[at + 1] = key.low
      data[at + 2] = offset
      link(count)
      count++
    },
    offsets(key) {
      const found = new Set<number>()
      for (let at = buckets[bucketOf(key.low)] as number; at > 0; at = field(at - 1, 3)) {
        const entry = at - 1
        if (field(entry, 0) === key.high && field(entry, 1) === key.low) found.add(field(entry, 2))
      }
      return [...found]
    },
    records() {
      // With 24 bits of entry number, the 29 bits that are sorted by give one exact double each.
      const order = new Float64Array(count)
      for (let entry = 0; entry < count; entry++) {
        order[entry] = sortedBy(field(entry, 0)) * 2 ** 24 + entry
      }
      order.sort()
      const records = Buffer.allocUnsafe(count * ID_RECORD)
      order.forEach((value, at) => {
        const entry = value % 2 ** 24
        for (let i = 0; i < 3; i++) records.writeUInt32BE(field(entry, i), at * ID_RECORD + 4 * i)
      })
      return records
    },
  }
}

export const ID_RECORD = 12
const sortedBy = (high: number): number => high >>> 3

/** How a record stands to a key in the order of the records. */
export const idOrder = (record: Buffer, key: IdKey): number =>
  sortedBy(record.readUInt32BE(0)) - sortedBy(key.high)

/** The offset in a record of exactly this key; null for another's. */
export const offsetFor = (record: Buffer, { high, low }: IdKey): number | null =>
  record.readUInt32BE(0) === high && record.readUInt32BE(4) === low ? record.readUInt32BE(8) : null
