import { GateError, type Location } from '../../../core/error.js'
import { FIRST_PREV } from '../../../core/journal/line.js'
import type { JournalLine } from '../../../ports/journal.js'
import { ifThere } from '../../disk/errno.js'
import { type FileHandle, open } from '../../disk/files.js'
import { readFirstLine, type Stretch, segmentPath } from '../segments.js'
import { BACKGROUND_CHUNK } from './blocks.js'
import {
  type Cursor,
  cursorBefore,
  cursorBehind,
  type LineBytes,
  type LinkedLine,
  textOf,
} from './chain.js'
import { linkedLines } from './scan.js'

/** Where the lines end: the segment being written, and how far. */
export type End = {
  readonly number: number
  readonly offset: number
  /** Of the last line before `offset`. */
  readonly hash: string
}
/** How far the files may be read at a moment; a reader that has it needs nothing else of the writer. */
export type Extent = { readonly segments: readonly Stretch[]; readonly tail: End }

/** Lines with seq ≥ from up to the head of this moment, checked against the chain as they are read. */
export async function* readLines(
  dir: string,
  origin: string,
  { segments: all, tail }: Extent,
  from: number,
): AsyncGenerator<JournalLine> {
  const segments = all.filter(
    ({ number }, i) => number <= tail.number && (all[i + 1]?.first ?? Infinity) > from,
  )
  let cursor: Cursor | null = null
  for (const segment of segments) {
    const file = segmentPath(dir, segment.number)
    const handle = await openSegment(dir, segment)
    try {
      const before: Cursor = cursor ?? (await startOf(file, segment))
      const end = segment.number === tail.number ? tail.offset : (await handle.stat()).size
      const range = { file, origin, from: before, chunk: BACKGROUND_CHUNK }
      cursor = before
      for await (const { lines, fault, rest } of linkedLines(handle, range, end)) {
        for (const line of lines) {
          cursor = cursorBehind(line)
          if (line.seq >= from) yield inEnvelope(line, { file, line: line.seq - before.seq })
        }
        if (fault !== null) throw fault
        if (rest > 0) throw cutShort(file, cursor.seq - before.seq + 1, rest)
      }
      const lines = cursor.seq - before.seq
      if (segment.number === tail.number && lines > 0 && cursor.prev !== tail.hash) {
        const expected = `line ${cursor.seq} with hash ${tail.hash}`
        const location = { file, line: lines, expected, found: cursor.prev }
        throw new GateError('damaged', 'the lines were changed after they were checked', location)
      }
    } finally {
      await handle.close()
    }
  }
}

/** JSON lets a name occur twice and the last one counts: what was checked is what stands first. */
function inEnvelope(checked: LinkedLine, location: Location): JournalLine {
  const line = parseLine(checked, location)
  for (const name of ['seq', 'prev', 'at', 'type'] as const) {
    if (line[name] === checked[name]) continue
    const found = `a second ${name}, ${JSON.stringify(line[name])}`
    throw new GateError('damaged', 'the envelope is contradicted', { ...location, found })
  }
  return line
}

export function parseLine(line: LineBytes, location: Location): JournalLine {
  try {
    return JSON.parse(textOf(line))
  } catch (error) {
    throw new GateError('damaged', 'the line is not JSON', location, error)
  }
}

export const cutShort = (file: string, line: number, bytes: number): GateError =>
  new GateError('damaged', 'the segment is cut short', {
    file,
    line,
    found: `${bytes} bytes without a line end`,
  })

/** A sealed segment may have been moved away, before the start or since. */
export async function openSegment(dir: string, { number, first }: Stretch): Promise<FileHandle> {
  const file = segmentPath(dir, number)
  const handle = await ifThere(open(file, 'r'))
  if (handle !== null) return handle
  const why = `segment ${number} (from line ${first} on) was archived: copy it back to read it`
  throw new GateError('archived', why, { file })
}

/** Where the chain stands before a segment, by its own first line; the segment before it is not read. */
const startOf = async (file: string, { first }: Stretch): Promise<Cursor> =>
  cursorBefore(first, first === 1 ? FIRST_PREV : ((await readFirstLine(file))?.prev ?? ''))
