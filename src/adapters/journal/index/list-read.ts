import { GateError } from '../../../core/error.js'
import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'
import type { FileHandle } from '../../disk/files.js'
import { findDispatch, readAt } from '../read/find.js'
import { type End, openSegment } from '../read/lines.js'
import { segmentPath } from '../segments.js'
import type { Store } from './catalog.js'
import { entryOf } from './entry.js'
import { type CapsuleListed, listedOf, type Sender } from './listed.js'
import type { Hit } from './row-hits.js'
import type { Place } from './rows.js'

export type Found = Hit & { readonly segment: number }

export type HitReader = {
  /** Null when the line is not wanted after all: a row has keys, the members decide. */
  entry(found: Found): Promise<CapsuleEntry<JournalLine> | null>
  close(): Promise<void>
}

/** Reads the lines that rows name; files stay open for the length of a page. */
export function openHitReader(store: Store, end: End, filter: CapsuleFilter): HitReader {
  const { dir, catalog } = store
  const handles = new Map<number, FileHandle>()
  const misled = (number: number, what: string): GateError =>
    new GateError('damaged', `the index names a place where ${what} does not stand`, {
      file: segmentPath(dir, number),
    })
  const read = async (place: Place, what: string): Promise<JournalLine> => {
    const segment = catalog.find(({ number }) => number === place.segment)
    if (segment === undefined) throw misled(place.segment, what)
    const handle = handles.get(segment.number) ?? (await openSegment(dir, segment))
    handles.set(segment.number, handle)
    return readAt(handle, dir, place, end)
  }
  const dispatchOf = async (action: string, place: Place): Promise<Sender | null> => {
    // A reader whose journal begins later (list-files.ts) does not see it.
    if (place.segment < (catalog[0]?.number ?? 0)) return null
    const line = await read(place, `the dispatch of ${action}`)
    const listed = listedOf(line.type, () => line)
    if (listed?.kind === 'dispatch' && listed.action === action) return listed
    throw misled(place.segment, `the dispatch of ${action}`)
  }
  const senderOf = async (
    { about, action, dispatched }: CapsuleListed,
    { dispatch, segment }: Found,
  ): Promise<Sender | null> => {
    if (about !== null || !dispatched || dispatch === null) return about
    if (dispatch !== 'unknown') return dispatchOf(action, dispatch)
    const found = await findDispatch(store, segment, action)
    if (found !== 'archived') return found
    const why = `the dispatch of ${action} was archived: copy its segment back to read it`
    throw new GateError('archived', why)
  }
  return {
    async entry(found) {
      const { segment, seq } = found
      const line = await read(found, `line ${seq}`)
      const listed = listedOf(line.type, () => line)
      if (line.seq !== seq || listed?.kind !== 'capsule') throw misled(segment, `line ${seq}`)
      return entryOf(line, listed, await senderOf(listed, found), filter)
    },
    async close() {
      for (const handle of handles.values()) await handle.close()
    },
  }
}
