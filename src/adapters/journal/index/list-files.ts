import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'
import type { OpenedJournal } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import { type Scanned, scanSegment } from '../read/scan.js'
import { type FirstLine, listSegments, readFirstLine, segmentPath } from '../segments.js'
import type { Catalog, Segment } from './catalog.js'
import { contentLine, newContents } from './contents.js'
import { followCapsules } from './follow.js'
import { listCapsules } from './list.js'
import { openStore } from './store.js'

/** The capsules of a folder as its files stand: beside the writer, without its lock, writing nothing. */
export type CapsuleFiles = Pick<OpenedJournal, 'list'> & {
  /** Those that are written after the moment of opening, as they come. */
  follow(filter: CapsuleFilter, signal: AbortSignal): AsyncIterable<CapsuleEntry<JournalLine>>
}

/** For a reader of files the journal begins with the first segment that is here. */
export async function openCapsuleFiles(dir: string): Promise<CapsuleFiles> {
  const { present } = await listSegments(dir)
  const catalog: Catalog = []
  let tail: Tail | null = null
  for (const number of present) {
    const first = await readFirstLine(segmentPath(dir, number))
    if (first === null) continue
    const segment = { number, first: first.seq, archived: false, contents: null }
    catalog.push(segment)
    tail = { segment, first }
  }
  const { bytes, cursor } = tail === null ? NO_LINES : await readTail(dir, tail)
  const number = tail?.segment.number ?? present[0] ?? 1
  const store = openStore(dir, tail?.first.origin ?? '', catalog, null)
  const end = { number, offset: bytes, hash: cursor.prev }
  return {
    list: (filter, page) => listCapsules(store, end, filter, page),
    follow: (filter, signal) =>
      followCapsules(store, { segment: number, seq: cursor.seq }, filter, signal),
  }
}

type Tail = { readonly segment: Segment; readonly first: FirstLine }
const NO_LINES = { bytes: 0, cursor: { seq: 0, prev: '' } } as const

/** The segment being written has no sidecar: its lines are read, as far as they are whole. */
async function readTail(dir: string, { segment, first }: Tail): Promise<Scanned> {
  const file = segmentPath(dir, segment.number)
  const contents = newContents(segment.number)
  const from = { seq: first.seq - 1, prev: first.prev, at: '', v: null }
  const range = { file, origin: first.origin, from, chunk: BACKGROUND_CHUNK }
  const read = await scanSegment(range, (line) => contents.add(contentLine(line, file)))
  segment.contents = contents
  return read
}
