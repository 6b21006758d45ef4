import { GateError } from '../../../core/error.js'
import { namesId, supersedesId } from '../../../core/journal/line.js'
import type { JournalLine } from '../../../ports/journal.js'
import type { FileHandle } from '../../disk/files.js'
import { idKey } from '../index/ids.js'
import { lookUp } from '../index/index-file.js'
import { listedOf } from '../index/listed.js'
import type { Dispatched, Position } from '../index/rows.js'
import type { Store } from '../index/store.js'
import { indexPath, segmentPath } from '../segments.js'
import { leafHashAt } from './hash.js'
import { type End, openSegment, parseLine } from './lines.js'

const FIRST_READ = 8 * 1024
const LF = 10
const PREV = /"prev":"([0-9a-f]{64})"/

/** Lines about an action or capsule, or superseding it, newest first. Each is checked against the link of the line after it. */
export async function findLines(
  store: Store,
  end: End,
  id: string,
  { superseding = false }: { superseding?: boolean } = {},
): Promise<readonly JournalLine[]> {
  const found: JournalLine[] = []
  for await (const { line } of candidates(store, end, id)) {
    if (namesId(line, id) || (superseding && supersedesId(line, id))) found.push(line)
  }
  return found
}

/** The newest dispatch of an action in the segments before that one; an archived one is not read. */
export async function findDispatch(
  store: Store,
  before: number,
  action: string,
): Promise<Dispatched | 'archived' | null> {
  // Those are sealed, and a seal ends them: no line that is looked for is their last.
  const end = { number: before, offset: 0, hash: '' }
  try {
    for await (const { line, segment, offset } of candidates(store, end, action)) {
      const listed = listedOf(line.type, () => line)
      if (listed?.kind === 'dispatch' && listed.action === action) {
        return { segment, offset, agent: listed.agent, tool: listed.tool }
      }
    }
  } catch (error) {
    if (error instanceof GateError && error.code === 'archived') return 'archived'
    throw error
  }
  return null
}

/** Lines whose text names the id somewhere, newest first. */
async function* candidates(
  { dir, catalog, indexed }: Store,
  end: End,
  id: string,
): AsyncGenerator<Position & { readonly line: JournalLine }> {
  const key = idKey(id)
  for (const segment of catalog.toReversed()) {
    const { number } = segment
    if (number > end.number || (number === end.number && end.offset === 0)) continue
    await indexed(segment)
    const table = await segment.contents?.ids()
    const offsets = table?.offsets(key) ?? (await lookUp(indexPath(dir, number), key))
    if (offsets.length === 0) continue
    const handle = await openSegment(dir, segment)
    try {
      for (const offset of offsets) {
        if (number === end.number && offset >= end.offset) continue
        const line = await readAt(handle, dir, { segment: number, offset }, end)
        yield { line, segment: number, offset }
      }
    } finally {
      await handle.close()
    }
  }
}

/** One line, if it is the one that the line after it, or the head, links to. */
export async function readAt(
  handle: FileHandle,
  dir: string,
  { segment, offset }: Position,
  { number, offset: written, hash: head }: End,
): Promise<JournalLine> {
  const file = segmentPath(dir, segment)
  const end = segment === number ? written : (await handle.stat()).size
  for (let room = FIRST_READ; ; room *= 4) {
    const length = Math.max(0, Math.min(room, end - offset))
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
      const location = { file, expected: `hash ${expected}`, found: `${hash} at byte ${offset}` }
      throw new GateError('damaged', 'a line is not the one that was linked', location)
    }
    return parseLine({ buffer, start: 1, stop }, { file, found: `no JSON at byte ${offset}` })
  }
}
