import type { JournalLine } from '../../../ports/journal.js'
import { type LinkedLine, textOf } from '../read/chain.js'
import { newTree } from '../read/hash.js'
import { parseLine } from '../read/lines.js'
import { type Scanned, type ScanRange, scanSegment } from '../read/scan.js'
import { type IdKey, type IdTable, idKeysOf, newIdTable } from './ids.js'
import { type Listed, listedOf } from './listed.js'
import { type FindDispatch, newRowTable, type Rows } from './rows.js'

/**
 * What a segment adds up to: its Merkle tree, where its ids stand and its capsule list. For the segment that boot found
 * open, the lines from before are read behind the running gate; those written meanwhile wait.
 */
export type Contents = {
  add(line: ContentLine): void
  /** Reject when the lines from before could not be read. */
  root(): Promise<string>
  /** How many lines of each type; the seal is not among them. */
  counts(): Promise<{ readonly [type: string]: number }>
  ids(): Promise<IdTable>
  rows(find: FindDispatch): Promise<Rows>
  /** Nothing is being read any more, however that ended. */
  settled(): Promise<unknown>
}
export type ContentLine = Pick<LinkedLine, 'seq' | 'at' | 'hash' | 'type' | 'offset'> & {
  readonly ids: readonly IdKey[]
  readonly listed: Listed | null
}

/** A line of a file, with what is kept of it. */
export function contentLine(line: LinkedLine, file: string): ContentLine {
  const { seq, at, hash, offset, type } = line
  const location = { file, found: `no JSON at byte ${offset}` }
  const members = (): JournalLine => parseLine(line, location)
  const ids = idKeysOf(type, () => textOf(line))
  return { seq, at, hash, type, offset, ids, listed: listedOf(type, members) }
}

export function newContents(segment: number, earlier?: ScanRange): Contents {
  const tree = newTree()
  const ids = newIdTable()
  const table = newRowTable(segment)
  const byType = new Map<string, number>()
  const take = ({ seq, at, hash, type, offset, ids: keys, listed }: ContentLine): void => {
    tree.push(hash)
    byType.set(type, (byType.get(type) ?? 0) + 1)
    for (const key of keys) ids.add(key, offset)
    if (listed !== null) table.add(listed, seq, Date.parse(at), offset)
  }
  let waiting: ContentLine[] | null = earlier === undefined ? null : []
  const readEarlier = async (range: ScanRange): Promise<void> => {
    await scanSegment(range, (line) => take(contentLine(line, range.file)))
    for (const line of waiting ?? []) take(line)
    waiting = null
  }
  const reading = earlier === undefined ? Promise.resolve() : readEarlier(earlier)
  const settled = Promise.allSettled([reading])
  return {
    add(line) {
      if (waiting === null) take(line)
      else waiting.push(line)
    },
    root: () => reading.then(() => tree.root()),
    counts: () => reading.then(() => Object.fromEntries(byType)),
    ids: () => reading.then(() => ids),
    rows: (find) => reading.then(() => table.rows(find)),
    settled: () => settled,
  }
}

export async function readContents(
  segment: number,
  range: ScanRange,
): Promise<{ readonly contents: Contents; readonly scanned: Scanned }> {
  const contents = newContents(segment)
  const scanned = await scanSegment(range, (line) => contents.add(contentLine(line, range.file)))
  return { contents, scanned }
}
