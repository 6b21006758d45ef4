import { NAME_BYTES } from '../../../core/evidence/record-names.js'
import type { Head } from './frame.js'

/** Where a record is in its segment, and under which key. */
export type IndexEntry = { readonly offset: number; readonly keySlot: number }
/** Instead of the key's slot, for a record whose encrypted bytes were found changed: no key has slot 0. */
export const DAMAGED_SLOT = 0
/** Entries are found by so much of a digest. */
export const PREFIX_BYTES = NAME_BYTES

export type Find = (digest: Buffer) => readonly IndexEntry[]
export type SegmentIndex = {
  find(digest: Buffer): Promise<readonly IndexEntry[]>
  /** All entries in memory, for many look-ups. */
  load(): Promise<Find>
  /** How many records are encrypted under that key. */
  count(keySlot: number): Promise<number>
  /** The prefixes of all entries under that key, hex. */
  names(keySlot: number): Promise<readonly string[]>
}
/** Of a segment that is still written to; bounded by the segment's size. */
export type MemoryIndex = SegmentIndex & {
  add(offset: number, head: Head, isDamaged?: boolean): void
  sorted(): readonly (readonly [prefix: string, entry: IndexEntry])[]
  /** Records per key slot. */
  readonly perKey: ReadonlyMap<number, number>
}

const prefixOf = (digest: Buffer): string => digest.toString('latin1', 0, PREFIX_BYTES)

export function createMemoryIndex(): MemoryIndex {
  const entries = new Map<string, IndexEntry[]>()
  const perKey = new Map<number, number>()
  const find: Find = (digest) => entries.get(prefixOf(digest)) ?? []
  const sorted: MemoryIndex['sorted'] = () =>
    // latin1 strings compare as the bytes they stand for.
    [...entries.keys()]
      .sort()
      .flatMap((prefix) => (entries.get(prefix) ?? []).map((entry) => [prefix, entry] as const))
  return {
    perKey,
    sorted,
    add(offset, head, isDamaged = false) {
      const keySlot = head.keyId.readUInt32BE(0)
      const entry = { offset, keySlot: isDamaged ? DAMAGED_SLOT : keySlot }
      for (const digest of [head.action, ...head.digests]) {
        const prefix = prefixOf(digest)
        const known = entries.get(prefix)
        if (known === undefined) entries.set(prefix, [entry])
        else if (known.at(-1)?.offset !== offset) known.push(entry)
      }
      perKey.set(keySlot, (perKey.get(keySlot) ?? 0) + 1)
    },
    find: async (digest) => find(digest),
    load: async () => find,
    count: async (keySlot) => perKey.get(keySlot) ?? 0,
    names: async (keySlot) =>
      sorted()
        .filter(([, entry]) => entry.keySlot === keySlot)
        .map(([prefix]) => Buffer.from(prefix, 'latin1').toString('hex')),
  }
}
