import { isHex64 } from '../../core/bytes/hex.js'
import type { InIndex } from '../../ports/evidence.js'
import type { Shelf } from './lookup.js'
import { DAMAGED_SLOT, type Place } from './memory-index.js'
import { inMemory } from './segment-files.js'
import type { Finder } from './sidecar.js'

/**
 * Many digests against the indexes, no record read: for comparing a whole journal with the store. Digests
 * come in the order of their lines, which is nearly the order of their records, so the segment that
 * answered last is asked first and only what it does not know goes on to the others.
 */
export function createLook(
  shelf: Shelf,
): (digests: readonly string[]) => Promise<readonly InIndex[]> {
  let near: { readonly number: number; readonly find: Finder } | null = null

  return async (digests) => {
    const places = new Map<string, Place[]>()
    const left = new Set(digests.filter(isHex64))
    const search = (find: Finder): boolean => {
      let isAny = false
      for (const digest of left) {
        const found = find(Buffer.from(digest, 'hex'))
        if (found.length === 0) continue
        isAny = true
        places.set(digest, [...(places.get(digest) ?? []), ...found])
        // A copy under an erased key or with changed bytes may have a good one elsewhere.
        if (found.some((place) => stateAt(place, shelf).state === 'present')) left.delete(digest)
      }
      return isAny
    }
    const segments = shelf.segments()
    const closed = inOrder(
      segments.flatMap(({ number, open }) => (open === null ? [number] : [])),
      near?.number ?? 0,
    )
    if (near !== null) search(near.find)
    for (const { open } of segments) {
      if (left.size === 0) break
      if (open !== null) search(await inMemory(open.index).load())
    }
    for (const number of closed) {
      if (left.size === 0) break
      if (number === near?.number) continue
      const find = await (await shelf.files.index(number)).load()
      if (search(find)) near = { number, find }
    }
    return digests.map((digest) => best((places.get(digest) ?? []).map((at) => stateAt(at, shelf))))
  }
}

/** The next one first, then all after it, then those before. */
function inOrder(numbers: readonly number[], from: number): readonly number[] {
  const sorted = [...numbers].sort((a, b) => a - b)
  return [...sorted.filter((one) => one >= from), ...sorted.filter((one) => one < from)]
}

function stateAt({ keySlot, offset }: Place, { keys }: Shelf): InIndex {
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

const ORDER = ['present', 'damaged', 'erased'] as const

/** One good copy is enough; a damaged one is told before an erased one. */
function best(states: readonly InIndex[]): InIndex {
  for (const wanted of ORDER) {
    const found = states.find(({ state }) => state === wanted)
    if (found !== undefined) return found
  }
  return { state: 'missing' }
}
