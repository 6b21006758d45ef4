import { GateError } from '../../../core/error.js'
import type {
  CapsuleEntry,
  CapsuleFilter,
  CapsuleList,
  CapsulePage,
  JournalLine,
} from '../../../ports/journal.js'
import type { FileHandle } from '../../disk/files.js'
import { findDispatch, readAt } from '../read/find.js'
import { type End, openSegment } from '../read/lines.js'
import { indexPath, segmentPath } from '../segments.js'
import { idKey } from './ids.js'
import { rowBlocks } from './index-file.js'
import { type CapsuleListed, entryOf, listedOf, type Sender } from './listed.js'
import { matchRow, type Position, type Row, type Rows, type Wanted } from './rows.js'
import type { Segment, Store } from './store.js'

/** Capsules by the segments' lists: rows pre-select, and what is given out was read and compared. */
export async function listCapsules(
  store: Store,
  end: End,
  filter: CapsuleFilter,
  page: CapsulePage,
): Promise<CapsuleList<JournalLine>> {
  const reader = openRowReader(store, end, filter)
  const entries: CapsuleEntry<JournalLine>[] = []
  const more = (): CapsuleList<JournalLine> => ({ entries, next: entries.at(-1)?.seq ?? null })
  try {
    for await (const found of rowsFound(store, end, wantedOf(filter, page))) {
      const entry = await reader.entry(found)
      if (entry === null) continue
      // One match too many: there is a next page.
      if (entries.length === page.limit) return more()
      entries.push(entry)
    }
    return { entries, next: null }
  } catch (error) {
    const archived = error instanceof GateError && error.code === 'archived'
    // What is here is shown; the next page begins with what is not, and says so.
    if (archived && entries.length > 0) return more()
    throw error
  } finally {
    await reader.close()
  }
}

function wantedOf(filter: CapsuleFilter, page: CapsulePage): Wanted {
  const key = (text: string | undefined) => (text === undefined ? null : idKey(text))
  const { verdict, tool, agent, decision } = filter
  const oldestFirst = 'after' in page
  return {
    oldestFirst,
    after: oldestFirst ? page.after : 0,
    before: (oldestFirst ? null : page.before) ?? Number.POSITIVE_INFINITY,
    from: timeOf(filter.from) ?? Number.NEGATIVE_INFINITY,
    to: timeOf(filter.to) ?? Number.POSITIVE_INFINITY,
    keys: { verdict: key(verdict), tool: key(tool), agent: key(agent), decision: key(decision) },
  }
}

function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new TypeError(`${JSON.stringify(text)} is not a time`)
  return time
}

type Found = Row & { readonly segment: number }

async function* rowsFound(store: Store, end: End, wanted: Wanted): AsyncGenerator<Found> {
  const { catalog } = store
  const last = (i: number): number => (catalog[i + 1]?.first ?? Number.POSITIVE_INFINITY) - 1
  const segments = catalog.filter(
    ({ number, first }, i) =>
      number <= end.number && first < wanted.before && last(i) > wanted.after,
  )
  if (!wanted.oldestFirst) segments.reverse()
  for (const segment of segments) {
    const { number } = segment
    for await (const rows of rowsOf(store, segment, wanted)) {
      for (let i = 0; i < rows.count; i++) {
        const row = matchRow(rows, wanted.oldestFirst ? i : rows.count - 1 - i, wanted)
        if (row === 'past') return
        // A row that was written since is not for this reader yet.
        if (row !== 'other' && (number < end.number || row.offset < end.offset)) {
          yield { ...row, segment: number }
        }
      }
    }
  }
}

async function* rowsOf(store: Store, segment: Segment, wanted: Wanted): AsyncGenerator<Rows> {
  await store.indexed(segment)
  const { contents, number } = segment
  if (contents === null) yield* rowBlocks(indexPath(store.dir, number), wanted)
  else yield await store.rows(contents, number)
}

/** Reads the lines that rows name; files stay open for the length of a page. */
function openRowReader(store: Store, end: End, filter: CapsuleFilter) {
  const { dir, catalog } = store
  const handles = new Map<number, FileHandle>()
  const misled = (number: number, what: string): GateError =>
    new GateError('damaged', `the index names a place where ${what} does not stand`, {
      file: segmentPath(dir, number),
    })
  const read = async (position: Position, what: string): Promise<JournalLine> => {
    const segment = catalog.find(({ number }) => number === position.segment)
    if (segment === undefined) throw misled(position.segment, what)
    const handle = handles.get(segment.number) ?? (await openSegment(dir, segment))
    handles.set(segment.number, handle)
    return readAt(handle, dir, position, end)
  }
  const senderAt = async (action: string, position: Position): Promise<Sender | null> => {
    // A reader whose journal begins later (capsule-files.ts) does not see it.
    if (position.segment < (catalog[0]?.number ?? 0)) return null
    const line = await read(position, `the dispatch of ${action}`)
    const listed = listedOf(line.type, () => line)
    if (listed?.kind === 'dispatch' && listed.action === action) return listed
    throw misled(position.segment, `the dispatch of ${action}`)
  }
  const senderOf = async (
    { about, action, dispatched }: CapsuleListed,
    { dispatch, segment }: Found,
  ): Promise<Sender | null> => {
    if (about !== null || !dispatched || dispatch === null) return about
    if (dispatch !== 'unknown') return senderAt(action, dispatch)
    const found = await findDispatch(store, segment, action)
    if (found !== 'archived') return found
    const why = `the dispatch of ${action} was archived: copy its segment back to read it`
    throw new GateError('archived', why)
  }
  return {
    /** Null when the line is not wanted after all: a row has keys, the members decide. */
    async entry(found: Found): Promise<CapsuleEntry<JournalLine> | null> {
      const { segment, seq } = found
      const line = await read(found, `line ${seq}`)
      const listed = listedOf(line.type, () => line)
      if (line.seq !== seq || listed?.kind !== 'capsule') throw misled(segment, `line ${seq}`)
      return entryOf(line, listed, await senderOf(listed, found), filter)
    },
    async close(): Promise<void> {
      for (const handle of handles.values()) await handle.close()
    },
  }
}
