import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'
import type { OpenedJournal } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import { cursorBefore } from '../read/chain.js'
import { findDispatch } from '../read/find.js'
import { readJournal } from '../read/read-journal.js'
import { listSegments, readFirstLine, segmentPath } from '../segments.js'
import { readContents } from './contents.js'
import { listCapsules } from './list.js'
import { entryOf, listedOf, type Sender } from './listed.js'
import { type Catalog, openStore, type Segment, type Store } from './store.js'

/** The capsules of a folder as its files stand: beside the writer, without its lock, writing nothing. */
export type CapsuleFiles = Pick<OpenedJournal, 'list'> & {
  /** Those that are written after the moment of opening, as they come. */
  follow(filter: CapsuleFilter, signal: AbortSignal): AsyncIterable<CapsuleEntry<JournalLine>>
}

/** For a reader of files the journal begins with the first segment that is here. */
export async function openCapsuleFiles(dir: string): Promise<CapsuleFiles> {
  const { present } = await listSegments(dir)
  const catalog: Catalog = []
  let tail = { number: present[0] ?? 1, origin: '', prev: '' }
  for (const number of present) {
    const line = await readFirstLine(segmentPath(dir, number))
    if (line === null) continue
    catalog.push({ number, first: line.seq, archived: false, contents: null })
    tail = { number, origin: line.origin, prev: line.prev }
  }
  const { number, origin } = tail
  const last = catalog.at(-1)
  const { bytes, cursor } = last === undefined ? NO_LINES : await readTail(dir, last, tail)
  const store = openStore(dir, origin, catalog, null)
  const end = { number, offset: bytes, hash: cursor.prev }
  return {
    list: (filter, page) => listCapsules(store, end, filter, page),
    follow: (filter, signal) => follow(store, { segment: number, seq: cursor.seq }, filter, signal),
  }
}

const NO_LINES = { bytes: 0, cursor: { seq: 0, prev: '' } } as const

/** The segment being written has no sidecar: its lines are read, as far as they are whole. */
async function readTail(
  dir: string,
  segment: Segment,
  { origin, prev }: { readonly origin: string; readonly prev: string },
) {
  const { number, first } = segment
  const from = cursorBefore(first, prev)
  const range = { file: segmentPath(dir, number), origin, from, chunk: BACKGROUND_CHUNK }
  const { contents, scanned } = await readContents(number, range)
  segment.contents = contents
  return scanned
}

/** Capsules after the last line of a listing, as they are written; who sent them may stand before it. */
async function* follow(
  store: Store,
  last: { readonly segment: number; readonly seq: number },
  filter: CapsuleFilter,
  signal: AbortSignal,
): AsyncGenerator<CapsuleEntry<JournalLine>> {
  const sent = new Map<string, Sender>()
  const earlier = async (action: string): Promise<Sender | null> => {
    const found = await findDispatch(store, last.segment + 1, action)
    return found === 'archived' ? null : found
  }
  for await (const { line } of readJournal(store.dir, { follow: { signal }, from: last.segment })) {
    const listed = line.seq > last.seq ? listedOf(line.type, () => line) : null
    if (listed?.kind === 'dispatch') sent.set(listed.action, listed)
    if (listed?.kind !== 'capsule') continue
    const { action, about, dispatched } = listed
    const dispatch = dispatched ? (sent.get(action) ?? (await earlier(action))) : null
    sent.delete(action)
    const entry = entryOf(line, listed, about ?? dispatch, filter)
    if (entry !== null) yield entry
  }
}
