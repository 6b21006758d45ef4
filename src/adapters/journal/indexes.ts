import { stat } from 'node:fs/promises'
import { BACKGROUND_CHUNK } from './blocks.js'
import type { Segment } from './catalog.js'
import { newContents } from './contents.js'
import { JournalError, messageOf } from './error.js'
import { idKeysOf } from './ids.js'
import { indexIsIntact, readIndexHeader, writeIndex } from './index-file.js'
import type { JournalReport } from './model.js'
import { scanSegment, textOf } from './scan.js'
import { indexPath, readFirstLine, segmentPath } from './segments.js'

/** Resolves when the segment's ids can be looked up: each index is checked once, on first need. */
export type Indexes = (segment: Segment) => Promise<void>

export function createIndexes(
  dir: string,
  origin: string,
  report: (report: JournalReport) => void,
): Indexes {
  const checked = new Map<number, Promise<void>>()
  return async (segment) => {
    if (segment.contents !== null) return
    const check = checked.get(segment.number) ?? ensureIndex(dir, origin, segment, report)
    checked.set(segment.number, check)
    await check
  }
}

/** Rebuilt from the lines if it is missing, stale or damaged. */
async function ensureIndex(
  dir: string,
  origin: string,
  segment: Segment,
  report: (report: JournalReport) => void,
): Promise<void> {
  const path = indexPath(dir, segment.number)
  const file = segmentPath(dir, segment.number)
  const why = await indexFault(path, file)
  if (why === null) return
  const first = await readFirstLine(file).catch(() => null)
  if (first === null) {
    const message = `the index of archived segment ${segment.number}: ${why}. Copy the segment back and start again`
    throw new JournalError('damaged', message, { file: path })
  }
  const from = { seq: segment.first - 1, prev: first.prev, at: '' }
  const contents = newContents()
  const range = { file, origin, from, chunk: BACKGROUND_CHUNK }
  const { last, bytes } = await scanSegment(range, (line) => {
    contents.add({ ...line, ids: idKeysOf(line.type, () => textOf(line)) })
  })
  try {
    const ids = await contents.ids()
    await writeIndex(path, { number: segment.number, bytes, seal: last ?? '' }, ids)
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
  if (here !== null && (here.size !== header.bytes || header.v === 1)) return 'it is stale'
  return (await indexIsIntact(path, header)) ? null : 'its records are damaged'
}
