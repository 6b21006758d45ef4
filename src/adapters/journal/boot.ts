import { join } from 'node:path'
import { isHeadType } from '../../core/journal/vocabulary.js'
import type { Plain } from '../../core/json/value.js'
import { open } from '../disk/files.js'
import { BACKGROUND_CHUNK, BOOT_CHUNK } from './blocks.js'
import type { Catalog } from './catalog.js'
import type { Cursor } from './chain.js'
import { checkSeal } from './check-seal.js'
import type { Tail } from './commit.js'
import type { Counted } from './compose.js'
import { type Contents, contentLine, newContents } from './contents.js'
import { type Cover, coverOf } from './cover.js'
import { JournalError } from './error.js'
import { type Layout, readLayout } from './layout.js'
import type { JournalOptions, JournalReport } from './model.js'
import { replaceFile, syncFolder } from './replace-file.js'
import { type LineSeen, scanSegment, scanToFault } from './scan.js'
import {
  behind,
  checkAgainstHead,
  checkSecond,
  readSecondHead,
  type SecondHead,
} from './second-head.js'
import { segmentName, segmentPath } from './segments.js'
import { readSnapshotFile, type Snapshot } from './snapshot.js'

export type Booted = {
  readonly tail: Tail
  readonly catalog: Catalog
  readonly snapshot: { readonly seq: number; readonly state: Plain } | null
  /** The chain before the first segment that is here, and before the one being written. */
  readonly base: Cursor
  readonly tailStart: Cursor
  readonly second: SecondHead | null
}

/**
 * Reads and links everything after the snapshot, or everything. One signature is checked, the newest head's: it
 * covers all lines before it. Changes nothing but an unfinished last batch.
 */
export async function boot(
  options: JournalOptions,
  report: (report: JournalReport) => void,
): Promise<Booted> {
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
  checkSecond(options, layout.base, second, pass.cover, report)
  const archived = layout.catalog.filter((segment) => segment.archived).length
  // An operator who did not archive them has to learn that they are gone.
  if (archived > 0) report({ kind: 'segments_archived', segments: archived, upto: layout.base.seq })
  if (layout.isNew) await makeSegment(dir, pass.number)
  if (pass.cover.unfinished.length > 0) {
    await cutUnfinished(dir, pass.number, pass.cover, report)
  }
  const contents = tailContents(options, pass)
  layout.catalog[layout.catalog.length - 1] = {
    number: pass.number,
    first: pass.tailStart.seq + 1,
    archived: false,
    contents,
  }
  const { cursor, lines, bytes, head, seal } = pass.cover
  return {
    tail: {
      number: pass.number,
      offset: bytes,
      cursor,
      lines,
      contents,
      seal,
      head,
      counted: head ?? pass.counted,
    },
    catalog: layout.catalog,
    snapshot: stands ? { seq: snapshot.seq, state: snapshot.state } : null,
    base: layout.base,
    tailStart: pass.tailStart,
    second,
  }
}

const notAdopted = (dir: string, { seq }: Cursor): JournalError =>
  new JournalError(
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

type Pass = {
  /** The last segment: its number, the chain before it, and how far it counts. */
  readonly number: number
  readonly tailStart: Cursor
  readonly cover: Cover
  /** What the last seal before that segment counted. */
  readonly counted: Counted
  readonly snapshotStands: boolean
}

async function readFrom(
  options: JournalOptions,
  { base, present, counted: before, isNew }: Layout,
  from: number,
  snapshot: Snapshot | null,
  second: SecondHead | null,
): Promise<Pass> {
  const { dir, origin } = options
  let end = present[from]?.before ?? base
  let counted = before
  let snapshotStands = snapshot?.seq === end.seq && snapshot.head === end.prev
  for (const segment of present.slice(from)) {
    const { number } = segment
    const file = segmentPath(dir, number)
    // Nothing was written yet: the file is made when nothing speaks against a start.
    if (isNew) return { number, tailStart: end, cover: nothingAt(end), counted, snapshotStands }
    const range = { file, origin, from: end, chunk: BOOT_CHUNK }
    const visit = ({ seq, hash, type, v }: LineSeen): void => {
      if (seq === snapshot?.seq) {
        // A snapshot stands on a head; before version 2 there was none.
        snapshotStands = hash === snapshot.head && v === snapshot.v && (v === 1 || isHeadType(type))
      }
      if (seq === second?.seq) checkAgainstHead(second, hash, file)
    }
    if (segment === present.at(-1)) {
      const cover = await coverOf(file, end, await scanToFault(range, visit), options)
      return { number, tailStart: end, cover, counted, snapshotStands }
    }
    const scanned = await scanSegment(range, visit)
    counted = checkSeal(file, number, scanned, 'later', options).head ?? counted
    end = scanned.cursor
  }
  throw new TypeError('a journal has at least one segment')
}

const nothingAt = (cursor: Cursor): Cover => ({
  ...{ cursor, lines: 0, bytes: 0, head: null, seal: null },
  unfinished: Buffer.alloc(0),
})

async function makeSegment(dir: string, number: number): Promise<void> {
  await (await open(segmentPath(dir, number), 'a', 0o600)).close()
  await syncFolder(dir)
}

/** Read once more behind the running gate: only a seal and a look-up need it, the start does not. */
function tailContents(
  { dir, origin }: JournalOptions,
  { number, tailStart, cover }: Pass,
): Contents {
  if (cover.lines === 0) return newContents(number)
  return newContents(number, async (add) => {
    const file = segmentPath(dir, number)
    const whole = { file, origin, from: tailStart, end: cover.bytes, chunk: BACKGROUND_CHUNK }
    await scanSegment(whole, (line) => add(contentLine(line, file)))
  })
}

/** What a crash left of a batch that was never acknowledged; its bytes are kept aside. */
export async function cutUnfinished(
  dir: string,
  number: number,
  { bytes, unfinished }: Pick<Cover, 'bytes' | 'unfinished'>,
  report: (report: JournalReport) => void,
): Promise<void> {
  const file = segmentPath(dir, number)
  const kept = join(dir, `${segmentName(number)}.${bytes}.torn`)
  await replaceFile(kept, unfinished)
  const handle = await open(file, 'r+')
  try {
    await handle.truncate(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  report({ kind: 'torn_tail', file, bytes: unfinished.length, kept })
}
