import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { FIRST_PREV } from '../../core/journal/line.js'
import type { Plain } from '../../core/json/value.js'
import type { Head } from '../../ports.js'
import type { Catalog } from './catalog.js'
import type { Cursor } from './chain.js'
import { archivedCursor, checkSeal } from './check-seal.js'
import type { Tail } from './commit.js'
import { JournalError } from './error.js'
import { newTree } from './hash.js'
import { readHeadFile, type SecondHead } from './head-file.js'
import { idKeysOf, newIdTable } from './ids.js'
import type { JournalOptions, JournalReport } from './model.js'
import { replaceFile, syncFolder } from './replace-file.js'
import { type Scanned, scanSegment, textOf } from './scan.js'
import { listSegments, readFirstLine, segmentName, segmentPath } from './segments.js'
import { readSnapshotFile, type Snapshot } from './snapshot.js'

export type Booted = {
  readonly tail: Tail
  readonly catalog: Catalog
  readonly snapshot: { readonly seq: number; readonly state: Plain } | null
  /** What boot did not read: segments before `until`, which must lead from `base` to it. */
  readonly older: {
    readonly numbers: readonly number[]
    readonly base: Cursor
    readonly until: Pick<Cursor, 'seq' | 'prev'>
    /** A second head that names one of their lines. */
    readonly head: Head | null
  }
}

type Layout = {
  readonly base: Cursor
  readonly catalog: Catalog
  /** Where each segment that is here begins; the last may have no line yet. */
  readonly present: readonly { readonly number: number; readonly before: Cursor | null }[]
}

/** Reads and checks everything after the snapshot, or everything; changes nothing but a torn last line. */
export async function boot(
  options: JournalOptions,
  report: (report: JournalReport) => void,
): Promise<Booted> {
  const { dir, origin } = options
  const layout = await readLayout(options)
  const second = await readSecondHead(options, layout, report)
  const read = await readSnapshotFile(dir, origin, options.keys)
  if (read.kind === 'ignored') report({ kind: 'snapshot_ignored', why: read.why })
  const snapshot = read.kind === 'signed' ? read.snapshot : null
  const start = snapshot === null ? 0 : startFor(snapshot, layout)
  let pass = await readFrom(options, layout, start ?? 0, snapshot, second)
  if (snapshot !== null && snapshot.seq > pass.tail.cursor.seq) {
    throw behind(dir, 'the signed snapshot', snapshot.seq, pass.tail.cursor.seq)
  }
  const stands = snapshot !== null && pass.snapshotHash === snapshot.head
  if (snapshot !== null && !stands) {
    const why =
      start === null
        ? `line ${snapshot.seq} is in an archived segment`
        : `line ${snapshot.seq} is not the one it names`
    report({ kind: 'snapshot_ignored', why })
    if (pass.from > 0) pass = await readFrom(options, layout, 0, null, second)
  }
  checkSecondHead(options, second, pass)
  if (pass.torn.length > 0) await cutTornLine(dir, pass.tail, pass.torn, report)
  const until = layout.present[pass.from]?.before ?? layout.base
  return {
    tail: pass.tail,
    catalog: layout.catalog,
    snapshot: stands && snapshot !== null ? { seq: snapshot.seq, state: snapshot.state } : null,
    older: {
      numbers: layout.present.slice(0, pass.from).map(({ number }) => number),
      base: layout.base,
      until,
      head: second !== null && second.seq <= until.seq && pass.from > 0 ? second : null,
    },
  }
}

async function readLayout(options: JournalOptions): Promise<Layout> {
  const { dir } = options
  const listing = await listSegments(dir)
  const catalog: Catalog = []
  let base: Cursor = { seq: 0, prev: FIRST_PREV, at: '' }
  for (const number of listing.archived) {
    catalog.push({ number, first: base.seq + 1, archived: true, ids: null })
    base = await archivedCursor(dir, number, base, options)
  }
  const numbers = listing.present.length > 0 ? listing.present : [listing.archived.length + 1]
  if (listing.present.length === 0) {
    await (await open(segmentPath(dir, listing.archived.length + 1), 'a', 0o600)).close()
    await syncFolder(dir)
  }
  const present: { number: number; before: Cursor | null }[] = []
  for (const number of numbers) {
    const first = await readFirstLine(segmentPath(dir, number))
    const own = first === null ? null : { seq: first.seq - 1, prev: first.prev, at: '' }
    present.push({ number, before: present.length === 0 ? base : own })
    catalog.push({ number, first: (own?.seq ?? base.seq) + 1, archived: false, ids: null })
  }
  return { base, catalog, present }
}

/** The newest segment that can hold the snapshot's line; null when that line is archived. */
function startFor(snapshot: Snapshot, { base, present }: Layout): number | null {
  if (snapshot.seq < base.seq) return null
  const at = present.findLastIndex(({ before }) => before !== null && before.seq < snapshot.seq)
  return Math.max(0, at)
}

type Pass = {
  readonly from: number
  readonly tail: Tail
  readonly torn: Buffer
  readonly snapshotHash: string | null
  readonly headHash: string | null
}

async function readFrom(
  options: JournalOptions,
  { base, catalog, present }: Layout,
  from: number,
  snapshot: Snapshot | null,
  second: Head | null,
): Promise<Pass> {
  const { dir, origin } = options
  let cursor = present[from]?.before ?? base
  const hashAt = (seq: number | undefined): string | null =>
    seq === cursor.seq ? cursor.prev : null
  let snapshotHash = hashAt(snapshot?.seq)
  let headHash = hashAt(second?.seq)
  let scanned: Scanned | null = null
  let ids = newIdTable()
  let number = 0
  for (const [i, segment] of present.slice(from).entries()) {
    const last = from + i === present.length - 1
    number = segment.number
    const file = segmentPath(dir, number)
    ids = newIdTable()
    scanned = await scanSegment(file, origin, cursor, (line) => {
      if (line.seq === snapshot?.seq) snapshotHash = line.hash
      if (line.seq === second?.seq) headHash = line.hash
      if (!last) return
      for (const key of idKeysOf(line.type, () => textOf(line))) ids.add(key, line.offset)
    })
    if (!last || scanned.sealed) checkSeal(file, number, scanned, options)
    cursor = scanned.cursor
  }
  const { last = null, lines = 0, bytes = 0, sealed = false } = scanned ?? {}
  if (last !== null) checkLastLine(segmentPath(dir, number), last, lines)
  const open = catalog.at(-1)
  if (open !== undefined) {
    open.ids = ids
    catalog[catalog.length - 1] = { ...open, first: cursor.seq - lines + 1 }
  }
  return {
    from,
    torn: scanned?.torn ?? Buffer.alloc(0),
    snapshotHash,
    headHash,
    tail: {
      number,
      offset: bytes,
      cursor,
      lines,
      tree: scanned?.tree ?? newTree(),
      ids,
      seal: sealed ? last : null,
    },
  }
}

/** No line links to the last one yet, so it must at least be JSON. */
function checkLastLine(file: string, text: string, line: number): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw new JournalError('damaged', 'the last line is not JSON', { file, line }, error)
  }
}

async function readSecondHead(
  { headFile, origin }: JournalOptions,
  { base, present }: Layout,
  report: (report: JournalReport) => void,
): Promise<SecondHead | null> {
  if (headFile === null) return null
  const second = await readHeadFile(headFile)
  const fresh = base.seq === 0 && present.every(({ before }) => before === null || before.seq === 0)
  if (second === null && !fresh) report({ kind: 'head_file_missing', file: headFile })
  if (second !== null && second.origin !== origin) {
    throw new JournalError('foreign_origin', 'the second head is of another journal', {
      file: headFile,
      expected: `origin ${origin}`,
      found: `origin ${second.origin}`,
    })
  }
  return second
}

function checkSecondHead(options: JournalOptions, second: Head | null, pass: Pass): void {
  if (second === null) return
  const { seq } = pass.tail.cursor
  if (second.seq > seq) throw behind(options.dir, 'the second head', second.seq, seq)
  if (pass.headHash !== null && pass.headHash !== second.hash) {
    throw new JournalError('forked', `line ${second.seq} is not the one the second head names`, {
      file: options.dir,
      expected: `hash ${second.hash}`,
      found: `hash ${pass.headHash}`,
    })
  }
}

const behind = (file: string, witness: string, known: number, found: number): JournalError =>
  new JournalError(
    'behind',
    `the journal is older than ${witness}: lines are missing, as after restoring an older copy. Put the newest copy back`,
    { file, expected: `line ${known}`, found: `line ${found} as the last` },
  )

/** What a crash left of a line nobody was told of; its bytes are kept aside. */
async function cutTornLine(
  dir: string,
  { number, offset }: Tail,
  torn: Buffer,
  report: (report: JournalReport) => void,
): Promise<void> {
  const file = segmentPath(dir, number)
  const kept = join(dir, `${segmentName(number)}.${offset}.torn`)
  await replaceFile(kept, torn)
  const handle = await open(file, 'r+')
  try {
    await handle.truncate(offset)
    await handle.sync()
  } finally {
    await handle.close()
  }
  report({ kind: 'torn_tail', file, bytes: torn.length, kept })
}
