import type { FileHandle } from 'node:fs/promises'
import type {
  CapsuleEntry,
  CapsuleFilter,
  CapsuleList,
  CapsulePage,
  JournalLine,
} from '../../ports.js'
import type { Segment, Store } from './catalog.js'
import { JournalError } from './error.js'
import { findDispatch, readAt } from './find.js'
import { idKey } from './ids.js'
import { rowBlocks } from './index-file.js'
import { type End, openSegment } from './lines.js'
import { type Listed, listedOf, type Sender } from './listed.js'
import { type Hit, hits, type Wanted } from './row-hits.js'
import type { Place, Rows } from './rows.js'
import { indexPath, segmentPath } from './segments.js'

/** Capsules by the segments' lists: rows pre-select, and what is given out was read and compared. */
export async function listCapsules(
  store: Store,
  end: End,
  filter: CapsuleFilter,
  page: CapsulePage,
): Promise<CapsuleList> {
  const reader = openReader(store, end)
  const entries: CapsuleEntry[] = []
  const more = (): CapsuleList => ({ entries, next: entries.at(-1)?.seq ?? null })
  try {
    for await (const found of hitsIn(store, end, wantedOf(filter, page))) {
      const entry = await reader.entry(found, filter)
      if (entry === null) continue
      // One match too many: there is a next page.
      if (entries.length === page.limit) return more()
      entries.push(entry)
    }
    return { entries, next: null }
  } catch (error) {
    const archived = error instanceof JournalError && error.code === 'archived'
    // What is here is shown; the next page begins with what is not, and says so.
    if (archived && entries.length > 0) return more()
    throw error
  } finally {
    await reader.close()
  }
}

function wantedOf(filter: CapsuleFilter, page: CapsulePage): Wanted {
  const key = (text: string | undefined) => (text === undefined ? null : idKey(text))
  const oldestFirst = 'after' in page
  return {
    oldestFirst,
    after: oldestFirst ? page.after : 0,
    before: (oldestFirst ? null : page.before) ?? Number.POSITIVE_INFINITY,
    from: timeOf(filter.from) ?? Number.NEGATIVE_INFINITY,
    to: timeOf(filter.to) ?? Number.POSITIVE_INFINITY,
    verdict: key(filter.verdict),
    tool: key(filter.tool),
    agent: key(filter.agent),
    decision: key(filter.decision),
  }
}

function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new TypeError(`${JSON.stringify(text)} is not a time`)
  return time
}

type Found = Hit & { readonly segment: number }

async function* hitsIn(store: Store, end: End, wanted: Wanted): AsyncGenerator<Found> {
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
      const found = hits(rows, wanted)
      for (let next = found.next(); ; next = found.next()) {
        if (next.done === true) {
          if (next.value) return
          break
        }
        // Written since: not yet for this reader.
        if (number < end.number || next.value.offset < end.offset) {
          yield { ...next.value, segment: number }
        }
      }
    }
  }
}

async function* rowsOf(store: Store, segment: Segment, wanted: Wanted): AsyncGenerator<Rows> {
  const { number } = segment
  await store.indexed(segment)
  const rows = await segment.contents?.rows((action) => findDispatch(store, number, action))
  if (rows === undefined) yield* rowBlocks(indexPath(store.dir, number), wanted)
  else yield rows
}

type CapsuleLine = Extract<Listed, { kind: 'capsule' }>

/** Reads matches; files stay open for the length of a page. */
function openReader(store: Store, end: End) {
  const handles = new Map<number, FileHandle>()
  const misled = (number: number, what: string): JournalError =>
    new JournalError('damaged', `the index names a place where ${what} does not stand`, {
      file: segmentPath(store.dir, number),
    })
  const read = async (place: Place): Promise<JournalLine> => {
    const { segment: number } = place
    const segment = store.catalog.find((one) => one.number === number)
    if (segment === undefined) throw misled(number, 'a line')
    const handle = handles.get(number) ?? (await openSegment(store.dir, segment))
    handles.set(number, handle)
    return readAt(handle, store.dir, place, end)
  }
  const senderOf = async (
    { about, action, dispatched }: CapsuleLine,
    { dispatch, segment }: Found,
  ): Promise<Sender | null> => {
    if (about !== null || !dispatched || dispatch === null) return about
    if (dispatch !== 'unknown') {
      const line = await read(dispatch)
      const listed = listedOf(line.type, () => line)
      if (listed?.kind === 'dispatch' && listed.action === action) return listed
      throw misled(dispatch.segment, `the dispatch of ${action}`)
    }
    const found = await findDispatch(store, segment, action)
    if (found !== 'archived') return found
    const why = `the dispatch of ${action} was archived: copy its segment back to read it`
    throw new JournalError('archived', why)
  }
  return {
    /** Null when the line is not wanted after all. */
    async entry(found: Found, filter: CapsuleFilter): Promise<CapsuleEntry | null> {
      const { segment, seq } = found
      const line = await read(found)
      const listed = listedOf(line.type, () => line)
      if (line.seq !== seq || listed?.kind !== 'capsule') throw misled(segment, `line ${seq}`)
      const sender = await senderOf(listed, found)
      if (!matches(listed, sender, filter)) return null
      const { agent, tool } = sender ?? NOBODY
      return { seq, at: line.at, agent, tool, line }
    },
    async close(): Promise<void> {
      for (const handle of handles.values()) await handle.close()
    },
  }
}

const NOBODY: Sender = { agent: null, tool: null }

/** Rows are told apart by keys; the members decide. */
function matches(capsule: CapsuleLine, sender: Sender | null, filter: CapsuleFilter): boolean {
  const agent = sender === null ? capsule.developer : sender.agent
  return (
    (filter.verdict === undefined || filter.verdict === capsule.verdict) &&
    (filter.decision === undefined || filter.decision === capsule.decision) &&
    (filter.tool === undefined || filter.tool === sender?.tool) &&
    (filter.agent === undefined || filter.agent === agent)
  )
}
