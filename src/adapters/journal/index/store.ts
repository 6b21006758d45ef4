import { GateError } from '../../../core/error.js'
import { messageOf } from '../../disk/errno.js'
import { stat } from '../../disk/files.js'
import type { JournalReport } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import { findDispatch } from '../read/find.js'
import { scanSegment } from '../read/scan.js'
import { indexPath, readFirstLine, segmentPath } from '../segments.js'
import type { Catalog, Segment, Store } from './catalog.js'
import { type Contents, contentLine, newContents } from './contents.js'
import {
  type Indexed,
  indexIsIntact,
  indexSays,
  readIndexHeader,
  VERSION,
  writeIndex,
} from './index-file.js'

/** Null for a reader beside the writer: what it makes anew stays in its memory. */
export type Report = ((report: JournalReport) => void) | null

/** Each index is checked once, on first need. */
export function openStore(dir: string, origin: string, catalog: Catalog, report: Report): Store {
  const checked = new Map<number, Promise<void>>()
  const store: Store = {
    dir,
    catalog,
    async indexed(segment) {
      if (segment.contents !== null) return
      const check = checked.get(segment.number) ?? ensureIndex(store, origin, segment, report)
      checked.set(segment.number, check)
      await check
    },
    async compared(segment, contents, of) {
      await store.indexed(segment)
      if (segment.contents !== null) return
      const rows = await contents.rows((action) => findDispatch(store, of.number, action))
      if (await indexSays(indexPath(dir, of.number), of, await contents.ids(), rows)) return
      await renew(store, segment, contents, of, 'it does not say what its lines do', report)
    },
  }
  return store
}

/** Rebuilt from the lines if it is missing, stale or damaged. */
async function ensureIndex(
  store: Store,
  origin: string,
  segment: Segment,
  report: Report,
): Promise<void> {
  const { number, first } = segment
  const path = indexPath(store.dir, number)
  const file = segmentPath(store.dir, number)
  const why = await indexFault(path, file)
  if (why === null) return
  const begin = await readFirstLine(file).catch(() => null)
  if (begin === null) {
    const message = `the index of archived segment ${number}: ${why}. Copy the segment back and start again`
    throw new GateError('damaged', message, { file: path })
  }
  const from = { seq: first - 1, prev: begin.prev, at: '', v: null }
  const contents = newContents(number)
  const range = { file, origin, from, chunk: BACKGROUND_CHUNK }
  const { last, bytes } = await scanSegment(range, (line) => contents.add(contentLine(line, file)))
  await renew(store, segment, contents, { number, bytes, seal: last ?? '' }, why, report)
}

async function renew(
  store: Store,
  segment: Segment,
  contents: Contents,
  of: Indexed,
  why: string,
  report: Report,
): Promise<void> {
  if (report === null) {
    segment.contents = contents
    return
  }
  const path = indexPath(store.dir, of.number)
  try {
    const rows = await contents.rows((action) => findDispatch(store, of.number, action))
    await writeIndex(path, of, await contents.ids(), rows)
    report({ kind: 'index_rebuilt', file: path, why })
  } catch (error) {
    // A read-only or full disk: the table serves from memory.
    segment.contents = contents
    report({ kind: 'index_failed', file: path, why: messageOf(error) })
  }
}

async function indexFault(path: string, segment: string): Promise<string | null> {
  const header = await readIndexHeader(path)
  if (header === null) return 'it is missing or cannot be read'
  const here = await stat(segment).catch(() => null)
  if (here !== null && here.size !== header.bytes) return 'it is stale'
  if (here !== null && header.v !== VERSION) return 'an older version wrote it'
  return (await indexIsIntact(path, header)) ? null : 'its records are damaged'
}
