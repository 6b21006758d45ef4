import { SEAL_TYPE } from '../../core/journal/seal.js'
import type { Verified } from '../../ports.js'
import { BACKGROUND_CHUNK } from './blocks.js'
import type { Booted } from './boot.js'
import type { Store } from './catalog.js'
import { checkSeal } from './check-seal.js'
import { JournalError, messageOf } from './error.js'
import { newTree } from './hash.js'
import type { JournalOptions } from './model.js'
import { scanSegment } from './scan.js'
import { checkAgainstHead } from './second-head.js'
import { segmentName, segmentPath } from './segments.js'

/**
 * Behind the running gate: every closed segment from the first to the one being written, roots and
 * indexes included. Ends early, with what it counted, when told to stop.
 */
export async function verifySealed(
  options: JournalOptions,
  { base, tailStart, tail, second }: Booted,
  { catalog, indexed }: Store,
  stopped: () => boolean,
): Promise<Verified> {
  const { dir, origin } = options
  // As of the start: what is sealed later is what this process wrote.
  const closed = catalog.filter(({ number }) => number < tail.number)
  const archived = closed.filter((s) => s.archived).map((s) => segmentName(s.number))
  let cursor = base
  let segments = 0
  let lines = 0
  const done = (damage: string | null): Verified => ({ segments, lines, archived, damage })
  try {
    for (const { number } of closed.filter((segment) => !segment.archived)) {
      if (stopped()) return done(null)
      const file = segmentPath(dir, number)
      const tree = newTree()
      const range = { file, origin, from: cursor, chunk: BACKGROUND_CHUNK }
      const scanned = await scanSegment(range, ({ seq, hash, type }) => {
        if (type !== SEAL_TYPE) tree.push(hash)
        if (seq === second?.seq) checkAgainstHead(second, hash, file)
      })
      checkSeal(file, number, scanned, tree.root(), options)
      cursor = scanned.cursor
      segments++
      lines += scanned.lines
    }
    if (cursor.seq !== tailStart.seq || cursor.prev !== tailStart.prev) {
      throw new JournalError('damaged', 'the older segments do not lead to the newer ones', {
        file: segmentPath(dir, tail.number),
        expected: `line ${tailStart.seq} with hash ${tailStart.prev}`,
        found: `line ${cursor.seq} with hash ${cursor.prev}`,
      })
    }
    for (const segment of closed) if (!stopped()) await indexed(segment)
    return done(null)
  } catch (error) {
    return done(messageOf(error))
  }
}
