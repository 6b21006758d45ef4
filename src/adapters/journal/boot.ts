import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plain } from '../../core/json/value.js'
import type { Head } from '../../ports.js'
import { BACKGROUND_CHUNK, BOOT_CHUNK } from './blocks.js'
import type { Catalog } from './catalog.js'
import type { Cursor } from './chain.js'
import { checkSeal } from './check-seal.js'
import { checkSigned } from './check-signed.js'
import type { Tail } from './commit.js'
import { type Contents, contentLine, newContents } from './contents.js'
import { JournalError } from './error.js'
import { type Layout, readLayout } from './layout.js'
import type { JournalOptions, JournalReport } from './model.js'
import { replaceFile } from './replace-file.js'
import { type Scanned, scanSegment } from './scan.js'
import { behind, checkAgainstHead, readSecondHead } from './second-head.js'
import { segmentName, segmentPath } from './segments.js'
import { readSnapshotFile, type Snapshot } from './snapshot.js'

export type Booted = {
  readonly tail: Tail
  readonly catalog: Catalog
  readonly snapshot: { readonly seq: number; readonly state: Plain } | null
  /** The chain before the first segment that is here, and before the one being written. */
  readonly base: Cursor
  readonly tailStart: Cursor
  readonly second: Head | null
}

/** Reads and checks everything after the snapshot, or everything; changes nothing but a torn last line. */
export async function boot(
  options: JournalOptions,
  report: (report: JournalReport) => void,
): Promise<Booted> {
  const { dir, origin } = options
  const layout = await readLayout(options)
  const second = await readSecondHead(options, layout.fresh, report)
  if (second !== null && second.seq === layout.base.seq) {
    checkAgainstHead(second, layout.base.prev, dir)
  }
  const read = await readSnapshotFile(dir, origin, options.keys)
  if (read.kind === 'ignored') report({ kind: 'snapshot_ignored', why: read.why })
  const snapshot = read.kind === 'signed' ? read.snapshot : null
  const start = snapshot === null ? 0 : startFor(snapshot, layout)
  let pass = await readFrom(options, layout, start ?? 0, snapshot, second)
  if (snapshot !== null && snapshot.seq > pass.end.seq) {
    throw behind(dir, 'the signed snapshot', snapshot.seq, pass.end.seq)
  }
  const stands = snapshot !== null && pass.snapshotHash === snapshot.head
  if (snapshot !== null && !stands) {
    const why = start === null ? 'is in an archived segment' : 'is not the one it names'
    report({ kind: 'snapshot_ignored', why: `line ${snapshot.seq} ${why}` })
    pass = await readFrom(options, layout, 0, null, second)
  }
  if (second !== null && second.seq > pass.end.seq) {
    throw behind(dir, 'the second head', second.seq, pass.end.seq)
  }
  if (pass.last.torn.length > 0) await cutTornLine(dir, pass, report)
  const contents = tailContents(options, pass)
  const first = pass.tailStart.seq + 1
  layout.catalog[layout.catalog.length - 1] = {
    number: pass.number,
    first,
    archived: false,
    contents,
  }
  const { cursor, lines, bytes, sealed, last } = pass.last
  return {
    tail: {
      number: pass.number,
      offset: bytes,
      cursor,
      lines,
      contents,
      seal: sealed ? last : null,
    },
    catalog: layout.catalog,
    snapshot: stands ? { seq: snapshot.seq, state: snapshot.state } : null,
    base: layout.base,
    tailStart: pass.tailStart,
    second,
  }
}

/** The newest segment that can hold the snapshot's line; null when that line is archived. */
function startFor(snapshot: Snapshot, { base, present }: Layout): number | null {
  if (snapshot.seq < base.seq) return null
  const at = present.findLastIndex(({ before }) => before !== null && before.seq < snapshot.seq)
  return Math.max(0, at)
}

type Pass = {
  /** The last segment: its number, the chain before it, and what was read of it. */
  readonly number: number
  readonly tailStart: Cursor
  readonly last: Scanned
  readonly end: Cursor
  readonly snapshotHash: string | null
}

async function readFrom(
  options: JournalOptions,
  { base, present }: Layout,
  from: number,
  snapshot: Snapshot | null,
  second: Head | null,
): Promise<Pass> {
  const { dir, origin } = options
  let tailStart = present[from]?.before ?? base
  let end = tailStart
  let snapshotHash = snapshot?.seq === end.seq ? end.prev : null
  let number = 0
  let scanned: Scanned | null = null
  for (const segment of present.slice(from)) {
    number = segment.number
    const file = segmentPath(dir, number)
    tailStart = end
    const before = end.seq
    scanned = await scanSegment({ file, origin, from: end, chunk: BOOT_CHUNK }, (line) => {
      const { seq, hash } = line
      if (seq === snapshot?.seq) snapshotHash = hash
      if (seq === second?.seq) checkAgainstHead(second, hash, file)
      // What a snapshot stands for was checked before it was folded.
      if (seq > (snapshot?.seq ?? 0)) checkSigned(line, { file, line: seq - before }, options)
    })
    const open = segment === present.at(-1) && !scanned.sealed
    if (!open) checkSeal(file, number, scanned, 'later', options)
    end = scanned.cursor
  }
  if (scanned === null) throw new TypeError('a journal has at least one segment')
  checkLastLine(segmentPath(dir, number), scanned)
  return { number, tailStart, last: scanned, end, snapshotHash }
}

/** No line links to the last one yet, so it must at least be JSON. */
function checkLastLine(file: string, { last, lines }: Scanned): void {
  if (last === null) return
  try {
    JSON.parse(last)
  } catch (error) {
    throw new JournalError('damaged', 'the last line is not JSON', { file, line: lines }, error)
  }
}

/** Read once more behind the running gate: only a seal and a look-up need it, the start does not. */
function tailContents({ dir, origin }: JournalOptions, pass: Pass): Contents {
  if (pass.last.lines === 0) return newContents(pass.number)
  return newContents(pass.number, async (add) => {
    const file = segmentPath(dir, pass.number)
    const whole = { file, origin, from: pass.tailStart, end: pass.last.bytes }
    await scanSegment({ ...whole, chunk: BACKGROUND_CHUNK }, (line) => add(contentLine(line, file)))
  })
}

/** What a crash left of a line nobody was told of; its bytes are kept aside. */
async function cutTornLine(
  dir: string,
  { number, last }: Pass,
  report: (report: JournalReport) => void,
): Promise<void> {
  const file = segmentPath(dir, number)
  const kept = join(dir, `${segmentName(number)}.${last.bytes}.torn`)
  await replaceFile(kept, last.torn)
  const handle = await open(file, 'r+')
  try {
    await handle.truncate(last.bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  report({ kind: 'torn_tail', file, bytes: last.torn.length, kept })
}
