import { namesId, supersedesId } from '../../core/journal/line.js'
import type { JournalLine } from '../../ports.js'
import type { Catalog } from './catalog.js'
import type { Tail } from './commit.js'
import { JournalError } from './error.js'
import { leafHashAt } from './hash.js'
import { idKey } from './ids.js'
import { lookUp } from './index-file.js'
import type { Indexes } from './indexes.js'
import { openSegment, parseLine } from './lines.js'
import { indexPath, segmentPath } from './segments.js'

const FIRST_READ = 8 * 1024
const LF = 10
const PREV = /"prev":"([0-9a-f]{64})"/

/** Lines about an action or capsule, or superseding it, newest first. Each is checked against the link of the line after it. */
export async function findLines(
  dir: string,
  catalog: Catalog,
  tail: Tail,
  indexed: Indexes,
  id: string,
  { superseding = false }: { superseding?: boolean } = {},
): Promise<readonly JournalLine[]> {
  const key = idKey(id)
  const found: JournalLine[] = []
  for (const segment of catalog.toReversed()) {
    if (segment.number > tail.number) continue
    await indexed(segment)
    const table = await segment.contents?.ids()
    const offsets = table?.offsets(key) ?? (await lookUp(indexPath(dir, segment.number), key))
    if (offsets.length === 0) continue
    const handle = await openSegment(dir, segment)
    try {
      const file = segmentPath(dir, segment.number)
      for (const offset of offsets) {
        const open = segment.number === tail.number
        if (open && offset >= tail.offset) continue
        const end = open ? tail.offset : (await handle.stat()).size
        const line = await readAt(handle, offset, end, tail.cursor.prev, file)
        if (namesId(line, id) || (superseding && supersedesId(line, id))) found.push(line)
      }
    } finally {
      await handle.close()
    }
  }
  return found
}

type Readable = Awaited<ReturnType<typeof openSegment>>

async function readAt(
  handle: Readable,
  offset: number,
  end: number,
  head: string,
  file: string,
): Promise<JournalLine> {
  for (let room = FIRST_READ; ; room *= 4) {
    const length = Math.min(room, end - offset)
    const buffer = Buffer.alloc(1 + length)
    const { bytesRead } = await handle.read(buffer, 1, length, offset)
    const stop = buffer.indexOf(LF, 1)
    const last = offset + length >= end
    const link = stop < 0 ? null : PREV.exec(buffer.toString('latin1', stop, 1 + bytesRead))
    if (link === null && !last) continue
    // Without a line after it, it is the head itself.
    const expected = link?.[1] ?? head
    const hash = stop < 0 ? 'no line' : leafHashAt(buffer, 1, stop)
    if (hash !== expected) {
      const place = { file, expected: `hash ${expected}`, found: `${hash} at byte ${offset}` }
      throw new JournalError('damaged', 'a line is not the one that was linked', place)
    }
    return parseLine(buffer, 1, stop, { file, found: `no JSON at byte ${offset}` })
  }
}
