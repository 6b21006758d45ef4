import { GateError } from '../../../core/error.js'
import { ifThere, messageOf } from '../../disk/errno.js'
import { stat } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'
import type { Report } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import { cursorBefore } from '../read/chain.js'
import { findDispatch } from '../read/find.js'
import type { Scanned } from '../read/scan.js'
import { indexPath, readFirstLine, type Stretch, segmentPath } from '../segments.js'
import { type Contents, readContents } from './contents.js'
import {
  type Indexed,
  indexBytes,
  indexIsIntact,
  indexMatches,
  readIndexHeader,
  VERSION,
} from './index-file.js'
import type { Rows } from './rows.js'

export type Segment = Stretch & {
  readonly archived: boolean
  /** Until the index file has the ids and capsules. */
  contents: Contents | null
}
/** The segments a reader may meet, oldest first; the last one is being written. */
export type Catalog = Segment[]

/** The segments of one folder, and what can be looked up in them. */
export type Store = {
  readonly dir: string
  readonly catalog: Catalog
  /** Resolves when the segment's ids and capsules can be looked up. Each index is checked once, on first need. */
  indexed(segment: Segment): Promise<void>
  /** Compares the index of a closed segment with what all its lines gave; makes it anew where it differs. */
  compared(segment: Segment, contents: Contents, scanned: Scanned): Promise<void>
  rows(contents: Contents, number: number): Promise<Rows>
  writeIndex(contents: Contents, of: Indexed): Promise<void>
}

/** `report` is null for a reader beside the writer: what it makes anew stays in its memory. */
export function openStore(
  dir: string,
  origin: string,
  catalog: Catalog,
  report: Report | null,
): Store {
  const checked = new Map<number, Promise<void>>()
  /** Rebuilt from the lines if it is missing, stale or damaged. */
  const ensure = async (segment: Segment): Promise<void> => {
    const { number, first } = segment
    const path = indexPath(dir, number)
    const file = segmentPath(dir, number)
    const why = await indexFault(path, file)
    if (why === null) return
    const begin = await ifThere(readFirstLine(file))
    if (begin === null) {
      const message = `the index of archived segment ${number}: ${why}. Copy the segment back and start again`
      throw new GateError('damaged', message, { file: path })
    }
    const range = { file, origin, from: cursorBefore(first, begin.prev), chunk: BACKGROUND_CHUNK }
    const { contents, scanned } = await readContents(number, range)
    await renew(segment, contents, closed(segment, scanned), why)
  }
  const renew = async (
    segment: Segment,
    contents: Contents,
    of: Indexed,
    why: string,
  ): Promise<void> => {
    if (report === null) {
      segment.contents = contents
      return
    }
    const file = indexPath(dir, of.number)
    try {
      await store.writeIndex(contents, of)
      report({ kind: 'index_rebuilt', file, why })
    } catch (error) {
      // A read-only or full disk: the table serves from memory.
      segment.contents = contents
      report({ kind: 'index_failed', file, why: messageOf(error) })
    }
  }
  const store: Store = {
    dir,
    catalog,
    async indexed(segment) {
      if (segment.contents !== null) return
      const check = checked.get(segment.number) ?? ensure(segment)
      checked.set(segment.number, check)
      await check
    },
    async compared(segment, contents, scanned) {
      await store.indexed(segment)
      if (segment.contents !== null) return
      const of = closed(segment, scanned)
      const rows = await store.rows(contents, of.number)
      if (await indexMatches(indexPath(dir, of.number), of, await contents.ids(), rows)) return
      await renew(segment, contents, of, 'it does not say what its lines do')
    },
    rows: (contents, number) => contents.rows((action) => findDispatch(store, number, action)),
    async writeIndex(contents, of) {
      const rows = await store.rows(contents, of.number)
      await replaceFile(indexPath(dir, of.number), indexBytes(of, await contents.ids(), rows))
    },
  }
  return store
}

const closed = ({ number }: Segment, { bytes, last }: Scanned): Indexed => ({
  number,
  bytes,
  seal: last?.text ?? '',
})

async function indexFault(path: string, segment: string): Promise<string | null> {
  const header = await readIndexHeader(path)
  if (header === null) return 'it is missing or cannot be read'
  const here = await ifThere(stat(segment))
  if (here !== null && here.size !== header.bytes) return 'it is stale'
  if (here !== null && header.v !== VERSION) return 'an older version wrote it'
  return (await indexIsIntact(path, header)) ? null : 'its records are damaged'
}
