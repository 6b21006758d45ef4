import { GateError } from '../../../core/error.js'
import type {
  CapsuleEntry,
  CapsuleFilter,
  CapsuleList,
  CapsulePage,
  JournalLine,
} from '../../../ports/journal.js'
import { findDispatch } from '../read/find.js'
import type { End } from '../read/lines.js'
import { indexPath } from '../segments.js'
import type { Segment, Store } from './catalog.js'
import { idKey } from './ids.js'
import { rowBlocks } from './index-file.js'
import { type Found, openHitReader } from './list-read.js'
import { hits, type Wanted } from './row-hits.js'
import type { Rows } from './rows.js'

/** Capsules by the segments' lists: rows pre-select, and what is given out was read and compared. */
export async function listCapsules(
  store: Store,
  end: End,
  filter: CapsuleFilter,
  page: CapsulePage,
): Promise<CapsuleList<JournalLine>> {
  const reader = openHitReader(store, end, filter)
  const entries: CapsuleEntry<JournalLine>[] = []
  const more = (): CapsuleList<JournalLine> => ({ entries, next: entries.at(-1)?.seq ?? null })
  try {
    for await (const found of hitsIn(store, end, wantedOf(filter, page))) {
      const entry = await reader.entry(found)
      if (entry === null) continue
      // One match too many: there is a next page.
      if (entries.length === page.limit) return more()
      entries.push(entry)
    }
    return { entries, next: null }
  } catch (error) {
    const archived = error instanceof GateError && error.code === 'archived'
    // What is here is shown; the next page begins with what is not, and says so.
    if (archived && entries.length > 0) return more()
    throw error
  } finally {
    await reader.close()
  }
}

function wantedOf(filter: CapsuleFilter, page: CapsulePage): Wanted {
  const key = (text: string | undefined) => (text === undefined ? null : idKey(text))
  const oldestFirst = 'after' in page
  return {
    oldestFirst,
    after: oldestFirst ? page.after : 0,
    before: (oldestFirst ? null : page.before) ?? Number.POSITIVE_INFINITY,
    from: timeOf(filter.from) ?? Number.NEGATIVE_INFINITY,
    to: timeOf(filter.to) ?? Number.POSITIVE_INFINITY,
    verdict: key(filter.verdict),
    tool: key(filter.tool),
    agent: key(filter.agent),
    decision: key(filter.decision),
  }
}

function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new TypeError(`${JSON.stringify(text)} is not a time`)
  return time
}

async function* hitsIn(store: Store, end: End, wanted: Wanted): AsyncGenerator<Found> {
  const { catalog } = store
  const last = (i: number): number => (catalog[i + 1]?.first ?? Number.POSITIVE_INFINITY) - 1
  const segments = catalog.filter(
    ({ number, first }, i) =>
      number <= end.number && first < wanted.before && last(i) > wanted.after,
  )
  if (!wanted.oldestFirst) segments.reverse()
  for (const segment of segments) {
    const { number } = segment
    for await (const rows of rowsOf(store, segment, wanted)) {
      const found = hits(rows, wanted)
      for (let next = found.next(); ; next = found.next()) {
        if (next.done === true) {
          if (next.value) return
          break
        }
        // Written since: not yet for this reader.
        if (number < end.number || next.value.offset < end.offset) {
          yield { ...next.value, segment: number }
        }
      }
    }
  }
}

async function* rowsOf(store: Store, segment: Segment, wanted: Wanted): AsyncGenerator<Rows> {
  const { number } = segment
  await store.indexed(segment)
  const rows = await segment.contents?.rows((action) => findDispatch(store, number, action))
  if (rows === undefined) yield* rowBlocks(indexPath(store.dir, number), wanted)
  else yield rows
}
