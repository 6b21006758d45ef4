import { GateError } from '../../../core/error.js'
import type { SealMembers } from '../../../core/journal/head.js'
import { FIRST_PREV } from '../../../core/journal/line.js'
import { readSeal } from '../../../core/journal/seal.js'
import { nodeCrypto } from '../../crypto-node.js'
import { stat } from '../../disk/files.js'
import { readIndexHeader } from '../index/index-file.js'
import type { Catalog } from '../index/store.js'
import type { JournalOptions, Trust } from '../model.js'
import { type Cursor, cursorBefore } from '../read/chain.js'
import { leafHashAt } from '../read/hash.js'
import { indexPath, listSegments, readFirstLine, segmentPath } from '../segments.js'
import type { Counted } from '../write/compose.js'

/** Which segments there are and where each begins in the chain, as they state it themselves. */
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

export async function readLayout(options: Pick<JournalOptions, 'dir'> & Trust): Promise<Layout> {
  const { dir } = options
  const listing = await listSegments(dir)
  const catalog: Catalog = []
  let base = cursorBefore(1, FIRST_PREV)
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
    const line = isNew ? null : await readFirstLine(segmentPath(dir, number))
    const own = line === null ? null : cursorBefore(line.seq, line.prev)
    present.push({ number, before: present.length === 0 ? base : own })
    const first = (own?.seq ?? base.seq) + 1
    catalog.push({ number, first, archived: false, contents: null })
  }
  const isFirst = numbers.length === 1 && numbers[0] === 1
  const hasLines = !isFirst || (!isNew && (await stat(segmentPath(dir, 1))).size > 0)
  return { base, counted, catalog, present, isNew, hasLines }
}

/** A segment that is not here, by the signed seal its index repeats. */
async function archivedSeal(
  dir: string,
  number: number,
  before: Cursor,
  trust: Trust,
): Promise<{ readonly cursor: Cursor; readonly head: SealMembers | null }> {
  const file = indexPath(dir, number)
  const fault = (why: string): GateError =>
    new GateError(
      'damaged',
      `segment ${number} is not here and its index does not vouch for it: ${why}. Put ${segmentPath(dir, number)} back`,
      { file },
    )
  const text = (await readIndexHeader(file))?.seal
  if (text === undefined) throw fault('it cannot be read')
  const check = readSeal(text, trust.origin, trust.keys, nodeCrypto)
  if (!check.ok) throw fault(check.why)
  const { seal, seq, at, head } = check
  if (seal.segment !== number) throw fault(`it seals segment ${seal.segment}`)
  if (seq !== before.seq + seal.size + 1) throw fault(`its seal is line ${seq}`)
  const bytes = Buffer.from(` ${text}`)
  const prev = leafHashAt(bytes, 1, bytes.length)
  return { cursor: { seq, prev, at, v: head === null ? 1 : 2 }, head }
}
