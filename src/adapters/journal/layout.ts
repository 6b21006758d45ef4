import { FIRST_PREV } from '../../core/journal/line.js'
import { stat } from '../disk/files.js'
import type { Catalog } from './catalog.js'
import type { Cursor } from './chain.js'
import { archivedSeal } from './check-seal.js'
import type { Counted } from './compose.js'
import type { JournalOptions } from './model.js'
import { listSegments, readFirstLine, segmentPath } from './segments.js'

/** Which segments there are and where each begins in the chain, by what they say of themselves. */
export type Layout = {
  /** The chain before the first segment that is here. */
  readonly base: Cursor
  /** What the seal of the last archived segment counted. */
  readonly counted: Counted
  readonly catalog: Catalog
  /** Never empty. Without a whole first line, `before` is null. */
  readonly present: readonly { readonly number: number; readonly before: Cursor | null }[]
  /** There is no segment yet: the one that is present has no file. */
  readonly isNew: boolean
  /** False only where the journal is one empty file, or none. */
  readonly hasLines: boolean
}

export async function readLayout(options: JournalOptions): Promise<Layout> {
  const { dir } = options
  const listing = await listSegments(dir)
  const catalog: Catalog = []
  let base: Cursor = { seq: 0, prev: FIRST_PREV, at: '', v: null }
  let counted: Counted = { lines: 0, capsules: 0 }
  for (const number of listing.archived) {
    catalog.push({ number, first: base.seq + 1, archived: true, contents: null })
    const archived = await archivedSeal(dir, number, base, options)
    base = archived.cursor
    counted = archived.head ?? counted
  }
  const isNew = listing.present.length === 0
  const numbers = isNew ? [listing.archived.length + 1] : listing.present
  const present: { number: number; before: Cursor | null }[] = []
  for (const number of numbers) {
    const first = isNew ? null : await readFirstLine(segmentPath(dir, number))
    const own = first === null ? null : { seq: first.seq - 1, prev: first.prev, at: '', v: null }
    present.push({ number, before: present.length === 0 ? base : own })
    catalog.push({
      number,
      first: (own?.seq ?? base.seq) + 1,
      archived: false,
      contents: null,
    })
  }
  const isFirst = numbers.length === 1 && numbers[0] === 1
  const hasLines = !isFirst || (!isNew && (await stat(segmentPath(dir, 1))).size > 0)
  return { base, counted, catalog, present, isNew, hasLines }
}
