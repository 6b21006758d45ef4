import { join } from 'node:path'
import { GateError } from '../../../core/error.js'
import { isHeadType } from '../../../core/journal/vocabulary.js'
import { syncFolder } from '../../disk/folder.js'
import { replaceFile } from '../../disk/replace-file.js'
import { withFile } from '../../disk/with-file.js'
import { newContents } from '../index/contents.js'
import type { Catalog } from '../index/store.js'
import type { JournalOptions, OpenedJournal, Report } from '../model.js'
import { BACKGROUND_CHUNK } from '../read/blocks.js'
import type { Cursor, LinkedLine } from '../read/chain.js'
import { segmentName, segmentPath } from '../segments.js'
import type { Tail } from '../write/commit.js'
import type { Counted } from '../write/compose.js'
import { checkSeal } from './check-seal.js'
import { behind, checkAgainstHead, checkSecond, readSecondHead } from './check-second-head.js'
import { type Cover, type Tail as ReadTail, readSegments } from './cover.js'
import { type Layout, readLayout } from './layout.js'
import type { KeptHead } from './second-head-file.js'
import { readSnapshotFile, type Snapshot } from './snapshot.js'

export type Booted = Pick<OpenedJournal, 'snapshot'> & {
  readonly tail: Tail
  readonly catalog: Catalog
  /** The chain before the first segment that is here, and before the one being written. */
  readonly base: Cursor
  readonly tailStart: Cursor
  readonly second: KeptHead | null
}

/**
 * Reads and links everything after the snapshot, or everything. One signature is checked, the newest head's: it
 * covers all lines before it. Changes nothing but an unfinished last batch.
 */
export async function boot(options: JournalOptions, report: Report): Promise<Booted> {
  const { dir, origin } = options
  const layout = await readLayout(options)
  const read = await readSnapshotFile(dir, origin, options.keys)
  if (read.kind === 'ignored') report({ kind: 'snapshot_ignored', why: read.why })
  const snapshot = read.kind === 'signed' ? read.snapshot : null
  const second = await readSecondHead(options, report, layout.hasLines)
  const start = snapshot === null ? 0 : startFor(snapshot, layout)
  let pass = await readFrom(options, layout, start ?? 0, snapshot, second)
  const end = pass.cover.cursor
  if (end.v === 1) throw notAdopted(dir, end)
  if (snapshot !== null && snapshot.seq > end.seq) {
    throw behind(dir, 'the signed snapshot', snapshot.seq, end.seq)
  }
  const stands = snapshot !== null && pass.snapshotStands
  if (snapshot !== null && !stands) {
    const why = start === null ? 'is in an archived segment' : 'is not the head it names'
    report({ kind: 'snapshot_ignored', why: `line ${snapshot.seq} ${why}` })
    pass = await readFrom(options, layout, 0, null, second)
  }
  const { base, catalog } = layout
  const { number, cover, start: tailStart, counted } = pass
  checkSecond(options, base, second, cover, report)
  const archived = catalog.filter((segment) => segment.archived).length
  // An operator who did not archive them has to learn that they are gone.
  if (archived > 0) report({ kind: 'segments_archived', segments: archived, upto: base.seq })
  const file = segmentPath(dir, number)
  if (layout.isNew) {
    await withFile(file, 'a', async () => {})
    syncFolder(dir)
  }
  if (cover.unfinished.length > 0) await cutUnfinished(dir, number, cover, report)
  const { cursor, lines, bytes, head, seal } = cover
  // Read once more behind the running gate: only a seal and a look-up need it, the start does not.
  const whole = { file, origin, from: tailStart, end: bytes, chunk: BACKGROUND_CHUNK }
  const contents = newContents(number, lines === 0 ? undefined : whole)
  catalog[catalog.length - 1] = { number, first: tailStart.seq + 1, archived: false, contents }
  const written = { cursor, lines, seal, head, counted: head ?? counted }
  return {
    tail: { number, offset: bytes, contents, ...written },
    catalog,
    snapshot: stands ? { seq: snapshot.seq, state: snapshot.state } : null,
    base,
    tailStart,
    second,
  }
}

const notAdopted = (dir: string, { seq }: Cursor): GateError =>
  new GateError(
    'not_adopted',
    `the journal is of version 1 up to line ${seq}, without signed heads: look at it and take it over with ` +
      '`capsule-gate journal adopt`, then start again',
    { file: dir },
  )

/** The newest segment that can hold the snapshot's line; null when that line is archived. */
function startFor(snapshot: Snapshot, { base, present }: Layout): number | null {
  if (snapshot.seq < base.seq) return null
  const at = present.findLastIndex(({ before }) => before !== null && before.seq < snapshot.seq)
  return Math.max(0, at)
}

type Pass = ReadTail & {
  /** What the last seal before the tail counted. */
  readonly counted: Counted
  readonly snapshotStands: boolean
}

async function readFrom(
  options: JournalOptions,
  { base, present, counted: before, isNew }: Layout,
  index: number,
  snapshot: Snapshot | null,
  second: KeptHead | null,
): Promise<Pass> {
  const from = present[index]?.before ?? base
  const numbers = present.slice(index).map(({ number }) => number)
  let counted = before
  let snapshotStands = snapshot?.seq === from.seq && snapshot.head === from.prev
  const visit = ({ seq, hash, type, v }: LinkedLine, file: string): void => {
    if (seq === snapshot?.seq) {
      // A snapshot stands on a head; before version 2 there was none.
      snapshotStands = hash === snapshot.head && v === snapshot.v && (v === 1 || isHeadType(type))
    }
    if (seq === second?.seq) checkAgainstHead(second, hash, file)
  }
  // Nothing was written yet: the file is made when nothing speaks against a start.
  const tail = isNew
    ? { number: numbers[0] ?? 1, start: from, cover: nothingAt(from) }
    : await readSegments(options, numbers, from, visit, (file, number, scanned) => {
        counted = checkSeal(file, number, scanned, 'later', options) ?? counted
      })
  return { ...tail, counted, snapshotStands }
}

const nothingAt = (cursor: Cursor): Cover => ({
  cursor,
  lines: 0,
  bytes: 0,
  head: null,
  seal: null,
  unfinished: Buffer.alloc(0),
})

/** What a crash left of a batch that was never acknowledged; its bytes are kept aside. */
export async function cutUnfinished(
  dir: string,
  number: number,
  { bytes, unfinished }: Pick<Cover, 'bytes' | 'unfinished'>,
  report: Report,
): Promise<void> {
  const file = segmentPath(dir, number)
  const kept = join(dir, `${segmentName(number)}.${bytes}.torn`)
  await replaceFile(kept, unfinished)
  await withFile(file, 'r+', async (handle) => {
    await handle.truncate(bytes)
    await handle.sync()
  })
  report({ kind: 'torn_tail', file, bytes: unfinished.length, kept })
}
