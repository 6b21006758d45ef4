import { GateError, type Location } from '../../../core/error.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import type { Verified } from '../../../ports/journal.js'
import { messageOf } from '../../disk/errno.js'
import { contentLine, newContents } from '../index/contents.js'
import type { Store } from '../index/store.js'
import type { JournalOptions } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import type { Cursor, LinkedLine } from '../read/chain.js'
import { parseLine } from '../read/lines.js'
import { type Scanned, scanSegment } from '../read/scan.js'
import { segmentName, segmentPath } from '../segments.js'
import type { Booted } from './boot.js'
import { checkSeal } from './check-seal.js'
import { checkAgainstHead } from './check-second-head.js'

/** Of ten milliseconds, so many go to checking: the same thread records the calls of the running gate. */
const SHARE = 3
const WHOLE = 10

/**
 * Behind the running gate: each line's own signature, in the segment being written first, then every closed segment
 * from the first on, with its root, counts and index. Ends early, with what it counted, when `stopped` says so.
 */
export async function verifySegments(
  options: JournalOptions,
  { base, tailStart, tail, second }: Booted,
  { catalog, indexed, compared }: Store,
  stopped: () => boolean,
): Promise<Verified> {
  const { dir, origin, lineFault } = options
  // As of the start: what is sealed later is what this process wrote.
  const closed = catalog.filter(({ number }) => number < tail.number)
  const archived = closed.filter((s) => s.archived).map((s) => segmentName(s.number))
  let segments = 0
  let lines = 0
  const done = (damage: string | null): Verified => ({ segments, lines, archived, damage })

  const read = (
    number: number,
    from: Cursor,
    visit: (line: LinkedLine) => void,
    end?: number,
  ): Promise<Scanned> => {
    const file = segmentPath(dir, number)
    let resumed = performance.now()
    const rest = async (): Promise<void> => {
      const spent = performance.now() - resumed
      await new Promise((resolve) => setTimeout(resolve, (spent * (WHOLE - SHARE)) / SHARE).unref())
      resumed = performance.now()
    }
    const range = { file, origin, from, end, chunk: BACKGROUND_CHUNK, rest: lineFault && rest }
    return scanSegment(range, (line) => {
      if (stopped()) throw new Stopped()
      visit(line)
      checkOwnSignature(line, { file, line: line.seq - from.seq }, lineFault)
    })
  }
  try {
    if (lineFault !== undefined && tail.lines > 0) {
      await read(tail.number, tailStart, () => undefined, tail.offset)
    }
    let cursor = base
    for (const segment of closed.filter(({ archived }) => !archived)) {
      const { number } = segment
      const file = segmentPath(dir, number)
      const contents = newContents(number)
      const scanned = await read(number, cursor, (line) => {
        if (line.seq === second?.seq) checkAgainstHead(second, line.hash, file)
        if (line.type !== SEAL_TYPE) contents.add(contentLine(line, file))
      })
      const [root, counts] = [await contents.root(), await contents.counts()]
      checkSeal(file, number, scanned, { root, counts }, options)
      // Nothing signs an index: only the lines themselves show what it should say.
      await compared(segment, contents, scanned)
      cursor = scanned.cursor
      segments++
      lines += scanned.lines
    }
    if (cursor.seq !== tailStart.seq || cursor.prev !== tailStart.prev) {
      throw new GateError('damaged', 'the older segments do not lead to the newer ones', {
        file: segmentPath(dir, tail.number),
        expected: `line ${tailStart.seq} with hash ${tailStart.prev}`,
        found: `line ${cursor.seq} with hash ${cursor.prev}`,
      })
    }
    for (const segment of closed) if (!stopped()) await indexed(segment)
    return done(null)
  } catch (error) {
    return done(error instanceof Stopped ? null : messageOf(error))
  }
}

/** Ends a scan in its middle. */
class Stopped extends Error {}

function checkOwnSignature(
  line: LinkedLine,
  location: Location,
  lineFault: JournalOptions['lineFault'],
): void {
  const fault = lineFault?.(parseLine(line, location)) ?? null
  if (fault === null) return
  throw new GateError(
    'damaged',
    `line ${line.seq} is a ${line.type} whose own signature does not hold (${fault}): a head covers it, so it was written with the ` +
      'event key of this gate, but not by it. Find out who has that key',
    location,
  )
}
