import { GateError } from '../../core/error.js'
import { type SignedHead, signHead } from '../../core/journal/head.js'
import { FIRST_PREV, isOrigin } from '../../core/journal/line.js'
import type { Plain } from '../../core/json/value.js'
import type { Head } from '../../ports/journal.js'
import { messageOf, writeFailure } from '../disk/errno.js'
import { mkdir } from '../disk/files.js'
import { lockFolder } from '../disk/lock.js'
import { openReserve } from '../disk/reserve.js'
import { listCapsules } from './index/list.js'
import { openStore } from './index/store.js'
import {
  type JournalOptions,
  MAX_SEGMENT_BYTES,
  type OpenedJournal,
  RESERVE_BYTES,
  RESERVE_HEADROOM,
  type Report,
} from './model.js'
import { findLines } from './read/find.js'
import { type End, type Extent, readLines } from './read/lines.js'
import { type Booted, boot } from './start/boot.js'
import { openHeadWriter } from './start/second-head-file.js'
import { writeSnapshotFile } from './start/snapshot.js'
import { verifySegments } from './start/verify-segments.js'
import { createCommitter } from './write/commit.js'
import { headSigner } from './write/compose.js'
import { type Epoch, takeEpoch } from './write/epoch.js'
import { createAppender } from './write/group-commit.js'
import { createStamp } from './write/timestamp.js'

/** What is released, in reverse, when the journal closes or does not start. */
type Held = (() => Promise<unknown>)[]

/** Opens for writing: takes the folder, reads what must be read, refuses what is damaged (DESIGN §5). */
export async function openJournal(options: JournalOptions): Promise<OpenedJournal> {
  const { dir, origin, segmentBytes = 1 } = options
  if (!isOrigin(origin)) throw new TypeError(`origin ${JSON.stringify(origin)} is not a plain name`)
  if (segmentBytes < 1 || segmentBytes > MAX_SEGMENT_BYTES) {
    throw new TypeError(`segmentBytes ${segmentBytes} is not between 1 and ${MAX_SEGMENT_BYTES}`)
  }
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const held: Held = []
  try {
    let epoch: Epoch | null = null
    const holder = (): string => epoch?.describe() ?? `pid ${process.pid}, starting`
    const lock = await lockFolder(dir, 'journal', holder)
    held.push(lock.release)
    epoch = await takeEpoch(dir)
    const { report = () => {} } = options
    const booted = await boot(options, report)
    return await start(options, epoch, booted, held, report)
  } catch (error) {
    await releaseAll(held)
    throw error
  }
}

async function releaseAll(held: Held): Promise<void> {
  for (const release of held.splice(0).reverse()) await release()
}

async function start(
  options: JournalOptions,
  epoch: Epoch,
  booted: Booted,
  held: Held,
  report: Report,
): Promise<OpenedJournal> {
  const { dir, origin, signer, headFile, seams = {} } = options
  const { catalog } = booted
  const store = openStore(dir, origin, catalog, report)
  const headFailed = (why: string): void =>
    report({ kind: 'head_file_failed', file: headFile ?? '', why })
  const headWriter = headFile === null ? null : await openHeadWriter(headFile, headFailed)
  if (headWriter !== null) held.push(headWriter.close)
  const reserve = await openReserve(dir, options.reserveBytes ?? RESERVE_BYTES, RESERVE_HEADROOM)
  held.push(reserve.close)
  const stamp = createStamp(options.clock, booted.tail.cursor.at)
  const committer = createCommitter(options, epoch, booted.tail, store, stamp, report)
  held.push(committer.close)
  const durable = (): void => {
    const { head } = committer.tail()
    if (head !== null) headWriter?.push(head)
  }
  const appender = createAppender(committer, signer, reserve, durable, report)
  held.push(appender.close)
  await appender.start()
  const head = (): Head => {
    const { seq, prev } = committer.tail().cursor
    return { seq, hash: prev }
  }
  const end = (): End => {
    const { number, offset, cursor } = committer.tail()
    return { number, offset, hash: cursor.prev }
  }
  const extent = (): Extent => ({
    segments: catalog.map(({ number, first }) => ({ number, first })),
    tail: end(),
  })
  const newest = headAtStart(options, booted.tail, stamp)
  if (newest !== null) headWriter?.push(newest)
  // From the first line on, a second head that is missing was there once.
  await headWriter?.settled()

  let closing: Promise<void> | null = null
  let damage: string | null = null
  const verified = verifySegments(options, booted, store, () => closing !== null).then((result) => {
    damage = result.damage
    if (damage !== null) report({ kind: 'damaged', why: damage })
    return result
  })
  held.push(() => verified)

  let snapshotting: Promise<unknown> = Promise.resolve()
  held.push(() => snapshotting)
  const write = async (state: Plain, upTo: Head): Promise<void> => {
    try {
      if (seams.before_snapshot) await seams.before_snapshot()
      epoch.check()
      await writeSnapshotFile(dir, origin, signer, upTo, state)
      if (seams.after_snapshot) await seams.after_snapshot()
    } catch (error) {
      report({ kind: 'snapshot_failed', why: messageOf(error) })
      throw error instanceof GateError ? error : writeFailure(error, dir)
    }
  }

  return {
    origin,
    append: appender.append,
    timestamp: stamp,
    head,
    lines: (from = 1) => readLines(dir, origin, extent(), from),
    extent,
    find: (id, wanted) => findLines(store, end(), id, wanted),
    list: (filter, page) => listCapsules(store, end(), filter, page),
    health() {
      const reason = committer.poison()?.message ?? appender.suspended() ?? damage
      return { ok: reason === null, reason }
    },
    close: () => (closing ??= releaseAll(held)),
    snapshot: booted.snapshot,
    async writeSnapshot(state, upTo = head()) {
      if (upTo.seq > head().seq) throw new TypeError(`line ${upTo.seq} is not durable yet`)
      // One at a time: they share the file they are prepared in.
      const turn = snapshotting.then(() => write(state, upTo))
      snapshotting = Promise.allSettled([turn])
      await turn
    },
    verified,
  }
}

/**
 * The newest head as the second file has it; before the first line it covers nothing. A seal is a head too, but what
 * it signs is a seal: after a stop right behind one, its members are signed as a head, or the next start would take it
 * for a forged one.
 */
function headAtStart(
  { origin, signer }: JournalOptions,
  { head, seal, cursor }: Booted['tail'],
  stamp: () => string,
): SignedHead | null {
  if (cursor.seq > 0 && (head === null || seal === null)) return head
  const { upto, hash, time, lines, capsules } = head ?? {
    upto: 0,
    hash: FIRST_PREV,
    time: stamp(),
    lines: 0,
    capsules: 0,
  }
  return signHead({ upto, hash, time, lines, capsules }, headSigner(origin, signer)).head
}
