import type { Booted } from './boot.js'
import { checkSeal } from './check-seal.js'
import { JournalError, messageOf } from './error.js'
import type { Indexes } from './indexes.js'
import type { JournalOptions, Verified } from './model.js'
import { scanSegment } from './scan.js'
import { segmentName, segmentPath } from './segments.js'

/** The segments boot stood upon without reading them. Ends early, with what it counted, when told to stop. */
export async function verifyOlder(
  options: JournalOptions,
  { older, catalog, tail }: Booted,
  indexed: Indexes,
  stopped: () => boolean,
): Promise<Verified> {
  const { dir, origin } = options
  const archived = catalog.filter((s) => s.archived).map((s) => segmentName(s.number))
  let cursor = older.base
  let segments = 0
  let lines = 0
  const done = (damage: string | null): Verified => ({ segments, lines, archived, damage })
  try {
    for (const number of older.numbers) {
      if (stopped()) return done(null)
      const file = segmentPath(dir, number)
      const scanned = await scanSegment(file, origin, cursor, ({ seq, hash }) => {
        if (seq !== older.head?.seq || hash === older.head.hash) return
        throw new JournalError('forked', `line ${seq} is not the one the second head names`, {
          file,
          expected: `hash ${older.head.hash}`,
          found: `hash ${hash}`,
        })
      })
      checkSeal(file, number, scanned, options)
      cursor = scanned.cursor
      segments++
      lines += scanned.lines
    }
    if (cursor.seq !== older.until.seq || cursor.prev !== older.until.prev) {
      throw new JournalError('damaged', 'the older segments do not lead to the newer ones', {
        file: dir,
        expected: `line ${older.until.seq} with hash ${older.until.prev}`,
        found: `line ${cursor.seq} with hash ${cursor.prev}`,
      })
    }
    for (const segment of catalog) {
      if (!stopped() && segment.number < tail.number) await indexed(segment)
    }
    return done(null)
  } catch (error) {
    return done(messageOf(error))
  }
}
