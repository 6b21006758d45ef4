import { NAME_BYTES } from '../../core/evidence/names.js'
import type { Head } from './frame.js'

/** Where a record stands, and under which key: enough to count what an erasure darkens. */
export type Place = { readonly offset: number; readonly keySlot: number }
/** Instead of a key's slot, at the place of a record whose sealed bytes were found changed: no key has slot 0. */
export const DAMAGED_SLOT = 0

/** The index of a segment that is still written to; bounded by the segment's size. */
export type MemoryIndex = {
  add(offset: number, head: Head, isDamaged?: boolean): void
  find(digest: Buffer): readonly Place[]
  sorted(): readonly (readonly [prefix: string, place: Place])[]
  /** Records per key slot. */
  readonly perKey: ReadonlyMap<number, number>
}

export const PREFIX_BYTES = NAME_BYTES
const prefixOf = (digest: Buffer): string => digest.toString('latin1', 0, PREFIX_BYTES)

export function createMemoryIndex(): MemoryIndex {
  const places = new Map<string, Place[]>()
  const perKey = new Map<number, number>()
  const note = (digest: Buffer, place: Place): void => {
    const prefix = prefixOf(digest)
    const known = places.get(prefix)
    if (known === undefined) places.set(prefix, [place])
    else if (known.at(-1)?.offset !== place.offset) known.push(place)
  }
  return {
    perKey,
    add(offset, head, isDamaged = false) {
      const keySlot = head.keyId.readUInt32BE(0)
      const place = { offset, keySlot: isDamaged ? DAMAGED_SLOT : keySlot }
      note(head.action, place)
      for (const digest of head.digests) note(digest, place)
      perKey.set(keySlot, (perKey.get(keySlot) ?? 0) + 1)
    },
    find: (digest) => places.get(prefixOf(digest)) ?? [],
    sorted: () =>
      // latin1 strings compare as the bytes they stand for.
      [...places.keys()]
        .sort()
        .flatMap((prefix) => (places.get(prefix) ?? []).map((place) => [prefix, place] as const)),
  }
}
