import { promisify } from 'node:util'
import { GateError } from '../../core/error.js'
import { isFull } from '../disk/errno.js'
import { closeSync, fdatasync, fstatSync, ftruncateSync, writeSync } from '../disk/files.js'
import type { Reserve } from '../disk/reserve.js'
import type { KeyStore } from './keys/store.js'
import type { Readable } from './read/find.js'
import type { Seams } from './seams.js'
import type { Segment, SegmentFiles } from './segment/files.js'
import type { Head } from './segment/frame.js'

type Waiting = {
  readonly segment: Segment
  readonly offset: number
  readonly end: number
  readonly head: Head
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}
export type WriterOptions = {
  readonly files: SegmentFiles
  readonly segmentBytes: number
  readonly keys: KeyStore
  readonly reserve: Reserve
  readonly seams: Seams
  readonly gather: () => Promise<void>
}
export type Writer = ReturnType<typeof openWriter>

const RECOVER_MS = 1000
const RESERVE_IN_USE = 'no space for evidence beyond what conclusions need'
const syncData = promisify(fdatasync)

/**
 * Appends: the bytes are in the kernel when `append` returns, and its promise resolves when a
 * group's fdatasync has made them durable. What fails is cut off again, so no later reader finds it.
 */
export function openWriter({ files, segmentBytes, keys, reserve, seams, gather }: WriterOptions) {
  const closed = files.numbers()
  const newest = closed.pop()
  let current = newest === undefined ? files.create(1) : files.resume(newest)
  /** Full, its index not yet on disk; the next segment is closed only after it. */
  let closing: Segment | null = null
  let closingRun: Promise<void> | null = null
  let waiting: Waiting[] = []
  let running: Promise<void> | null = null
  let poison: string | null = null
  /** A write or sync failed, and the disk has not been seen to take and keep bytes since. */
  let failing: GateError | null = null

  recover()
  // An unhealthy store gets no more records that would make it try again.
  const retry = setInterval(recover, RECOVER_MS).unref()

  function recover(): void {
    if (failing === null && reserve.whole()) return
    try {
      reserve.restore()
      failing = null
    } catch {
      // Not yet; health reports it already.
    }
  }

  /** All of it at that position or nothing; an urgent record may use the reserve's space. */
  function write(fd: number, bytes: Buffer, at: number, urgent: boolean): void {
    for (;;) {
      try {
        for (let done = 0; done < bytes.length; ) {
          done += writeSync(fd, bytes, done, bytes.length - done, at + done)
        }
        return
      } catch (error) {
        cutBack(fd, at)
        failing = isFull(error)
          ? new GateError('disk_full', 'no space for evidence', undefined, error)
          : new GateError('write_failed', `evidence cannot be written: ${error}`, undefined, error)
        if (failing.code === 'disk_full' && urgent && reserve.release(Number.POSITIVE_INFINITY))
          continue
        throw failing
      }
    }
  }

  function cutBack(fd: number, to: number): void {
    try {
      // A read-only disk took nothing, and would refuse this too.
      if (fstatSync(fd).size > to) ftruncateSync(fd, to)
    } catch (error) {
      poison = `a failed write could not be undone (${String(error)}); restart the gate`
    }
  }

  function mayWrite(urgent: boolean): void {
    if (poison !== null) throw new GateError('poisoned', poison)
    if (urgent) return
    recover()
    if (failing !== null) throw failing
    if (!reserve.whole()) throw new GateError('disk_full', RESERVE_IN_USE)
  }

  function roll(): void {
    if (current.size < segmentBytes) return
    if (closing === null) {
      try {
        const next = files.create(current.number + 1)
        closing = current
        current = next
      } catch {
        // No room for a new file: the old one takes this record too, or reports why not.
      }
    }
    closeFull()
  }

  /** Moves the full segment's index to disk once all of it is durable; tried again at the next append. */
  function closeFull(): void {
    const segment = closing
    if (segment === null || closingRun !== null || segment.durable < segment.size) return
    closingRun = files
      .close(segment)
      .then(
        () => {
          closed.push(segment.number)
          closing = null
        },
        () => {},
      )
      .finally(() => {
        closingRun = null
      })
  }

  async function syncAll(): Promise<void> {
    await gather()
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        seams.before_evidence_sync?.()
        if (keys.isDirty()) {
          await keys.sync().catch((error: unknown) => {
            // The kernel may have marked those pages clean: a later sync would prove nothing.
            poison = `data keys could not be made durable (${String(error)}); restart the gate`
            throw error
          })
        }
        for (const segment of new Set(batch.map((one) => one.segment))) await syncData(segment.fd)
        seams.after_evidence_sync?.()
      } catch (error) {
        fail([...batch, ...waiting], error)
        continue
      }
      for (const { segment, offset, end, head, resolve } of batch) {
        segment.index.add(offset, head)
        segment.durable = end
        resolve()
      }
      closeFull()
    }
    running = null
  }

  /** Nothing since the last good sync counts: it is cut off, and every waiting append is rejected. */
  function fail(all: readonly Waiting[], cause: unknown): void {
    waiting = []
    const message = `evidence was not made durable: ${cause}`
    const error = new GateError('write_failed', message, undefined, cause)
    failing = error
    for (const segment of new Set(all.map((one) => one.segment))) {
      cutBack(segment.fd, segment.durable)
      segment.size = segment.durable
    }
    for (const one of all) one.reject(error)
  }

  return {
    /** Called before the record is encrypted: no key is made for what may not be written. */
    mayWrite,
    writeKey: (urgent: boolean) => (fd: number, bytes: Buffer, at: number) =>
      write(fd, bytes, at, urgent),
    append(frame: Buffer, head: Head, urgent: boolean): Promise<void> {
      roll()
      const segment = current
      const offset = segment.size
      seams.before_evidence_write?.()
      write(segment.fd, frame, offset, urgent)
      seams.after_evidence_write?.()
      segment.size += frame.length
      return new Promise((resolve, reject) => {
        waiting.push({ segment, offset, end: segment.size, head, resolve, reject })
        running ??= syncAll()
      })
    },
    segments: (): ReturnType<Readable['segments']> => [
      { number: current.number, open: current.index },
      ...(closing === null ? [] : [{ number: closing.number, open: closing.index }]),
      ...closed.toReversed().map((number) => ({ number, open: null })),
    ],
    drained: async (): Promise<void> => {
      await running
    },
    health(): { ok: boolean; reason: string | null } {
      const reason = poison ?? failing?.message ?? (reserve.whole() ? null : RESERVE_IN_USE)
      return { ok: reason === null, reason }
    },
    async close(): Promise<void> {
      clearInterval(retry)
      await running
      await closingRun
      closeSync(current.fd)
      if (closing !== null) closeSync(closing.fd)
    },
  }
}
