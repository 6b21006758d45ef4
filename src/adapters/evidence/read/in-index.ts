import { isHex64 } from '../../../core/bytes/hex.js'
import type { InIndex } from '../../../ports/evidence.js'
import { DAMAGED_SLOT, type Find, type IndexEntry } from '../segment/segment-index.js'
import type { Readable } from './find.js'

/**
 * Looks up many digests in the indexes without reading records, to compare a whole journal with the store. Digests
 * come in the order of their lines, which is nearly the order of their records, so the segment that had the last
 * ones is asked first, and only what it does not have is looked up in the others.
 */
export function createIndexLookup(
  store: Readable,
): (digests: readonly string[]) => Promise<readonly InIndex[]> {
  let near: { readonly number: number; readonly find: Find } | null = null

  return async (digests) => {
    const states = new Map<string, InIndex[]>()
    const left = new Set(digests.filter(isHex64))
    const search = (find: Find): boolean => {
      let isAny = false
      for (const digest of left) {
        const found = find(Buffer.from(digest, 'hex')).map((entry) => stateOf(entry, store))
        if (found.length === 0) continue
        isAny = true
        states.set(digest, [...(states.get(digest) ?? []), ...found])
        // A copy under an erased key or with changed bytes may have a good one elsewhere.
        if (found.some(({ state }) => state === 'present')) left.delete(digest)
      }
      return isAny
    }
    const segments = store.segments()
    const from = near?.number ?? 0
    if (near !== null) search(near.find)
    for (const { open } of segments) {
      if (open !== null && left.size > 0) search(await open.load())
    }
    const closed = segments.flatMap(({ number, open }) => (open === null ? number : [])).reverse()
    const order = [...closed.filter((one) => one >= from), ...closed.filter((one) => one < from)]
    for (const number of order) {
      if (left.size === 0) break
      if (number === near?.number) continue
      const find = await (await store.files.index(number)).load()
      if (search(find)) near = { number, find }
    }
    return digests.map((digest) => best(states.get(digest) ?? []))
  }
}

function stateOf({ keySlot, offset }: IndexEntry, { keys }: Readable): InIndex {
  if (keySlot === DAMAGED_SLOT) {
    return { state: 'damaged', detail: `the sealed bytes at ${offset} of its segment were changed` }
  }
  const slot = keys.slot(keySlot)
  switch (slot.state) {
    case 'live':
      return { state: 'present' }
    case 'erased':
      return { state: 'erased', key: slot.id.toString('hex') }
    case 'damaged':
      return { state: 'damaged', detail: `its key ${keySlot} is damaged` }
  }
}

/** One good copy is enough; a damaged one is reported rather than an erased one. */
const best = (states: readonly InIndex[]): InIndex =>
  (['present', 'damaged', 'erased'] as const)
    .map((wanted) => states.find(({ state }) => state === wanted))
    .find((found) => found !== undefined) ?? { state: 'missing' }
