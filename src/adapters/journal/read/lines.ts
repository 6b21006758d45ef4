import { GateError, type Location } from '../../../core/error.js'
import { FIRST_PREV } from '../../../core/journal/line.js'
import type { JournalLine } from '../../../ports/journal.js'
import { errnoOf } from '../../disk/errno.js'
import { type FileHandle, open } from '../../disk/files.js'
import type { Stretch } from '../index/catalog.js'
import { readFirstLine, segmentPath } from '../segments.js'
import { BACKGROUND_CHUNK, blocks } from './blocks.js'
import { type Cursor, openChain } from './chain.js'

const LF = 10

/** Where the lines end: the segment being written, and how far. */
export type End = {
  readonly number: number
  readonly offset: number
  /** Of the last line before `offset`. */
  readonly hash: string
}
/** How far the files may be read at a moment; whoever knows it needs nothing else of the writer. */
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
      cursor ??= await cursorBefore(file, segment)
      const end = segment.number === tail.number ? tail.offset : (await handle.stat()).size
      const chain = openChain(file, origin, cursor)
      const reading = blocks(handle, file, 0, end, BACKGROUND_CHUNK)
      let rest = 0
      for (;;) {
        const next = await reading.next()
        if (next.done === true) {
          rest = next.value.length
          break
        }
        const { buffer } = next.value
        for (let start = next.value.start; start < next.value.end; ) {
          const stop = buffer.indexOf(LF, start)
          const { prev } = chain.cursor()
          const { type } = chain.step(buffer, start, stop)
          const { seq, at } = chain.cursor()
          if (seq >= from) {
            const place = { file, line: chain.lines() }
            yield inEnvelope(parseLine(buffer, start, stop, place), { seq, prev, at, type }, place)
          }
          start = stop + 1
        }
      }
      if (rest > 0) {
        const place = { file, line: chain.lines() + 1, found: `${rest} bytes without a line end` }
        throw new GateError('damaged', 'the segment is cut short', place)
      }
      cursor = chain.cursor()
      if (segment.number === tail.number && chain.lines() > 0 && cursor.prev !== tail.hash) {
        const expected = `line ${cursor.seq} with hash ${tail.hash}`
        const place = { file, line: chain.lines(), expected, found: cursor.prev }
        throw new GateError('damaged', 'the lines were changed after they were checked', place)
      }
    } finally {
      await handle.close()
    }
  }
}

/** JSON lets a name occur twice and the last one counts: what was checked is what stands first. */
function inEnvelope(
  line: JournalLine,
  checked: Pick<JournalLine, 'seq' | 'prev' | 'at' | 'type'>,
  place: Location,
): JournalLine {
  for (const name of ['seq', 'prev', 'at', 'type'] as const) {
    if (line[name] === checked[name]) continue
    const found = `a second ${name}, ${JSON.stringify(line[name])}`
    throw new GateError('damaged', 'the envelope is contradicted', { ...place, found })
  }
  return line
}

export function parseLine(
  buffer: Buffer,
  start: number,
  stop: number,
  place: Location,
): JournalLine {
  try {
    return JSON.parse(buffer.toString('utf8', start, stop))
  } catch (error) {
    throw new GateError('damaged', 'the line is not JSON', place, error)
  }
}

/** A sealed segment may have been moved away, before the start or since. */
export async function openSegment(dir: string, segment: Stretch): Promise<FileHandle> {
  const file = segmentPath(dir, segment.number)
  try {
    return await open(file, 'r')
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    throw new GateError(
      'archived',
      `segment ${segment.number} (from line ${segment.first} on) was archived: copy it back to read it`,
      { file },
    )
  }
}

/** Where the chain stands before a segment, by its own first line; the segment before it is not read. */
async function cursorBefore(file: string, { first }: Stretch): Promise<Cursor> {
  if (first === 1) return { seq: 0, prev: FIRST_PREV, at: '', v: null }
  return { seq: first - 1, prev: (await readFirstLine(file))?.prev ?? '', at: '', v: null }
}
