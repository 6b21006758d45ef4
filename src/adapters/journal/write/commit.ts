import { promisify } from 'node:util'
import { GateError } from '../../../core/error.js'
import type { SignedHead } from '../../../core/journal/head.js'
import type { Appended } from '../../../ports/journal.js'
import { messageOf, writeFailure } from '../../disk/errno.js'
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from '../../disk/files.js'
import { syncFolder } from '../../disk/folder.js'
import { type Contents, newContents } from '../index/contents.js'
import type { Store } from '../index/store.js'
import {
  type Files,
  type JournalOptions,
  MAX_SEGMENT_BYTES,
  type Report,
  SEGMENT_BYTES,
} from '../model.js'
import type { Cursor } from '../read/chain.js'
import { indexPath, segmentPath } from '../segments.js'
import { type Composed, type Counted, createComposer } from './compose.js'
import type { SignedEntry } from './entry.js'
import type { Epoch } from './epoch.js'

/** The segment being written, as far as it is durable. */
export type Tail = {
  readonly number: number
  readonly offset: number
  readonly cursor: Cursor
  readonly lines: number
  readonly contents: Contents
  /** The last line's text when that is a seal: the next line needs a new file. */
  readonly seal: string | null
  /** The newest head; null before the first, and where only a seal is known. */
  readonly head: SignedHead | null
  readonly counted: Counted
}

export type Committer = ReturnType<typeof createCommitter>

const diskFiles: Files = {
  write: (fd, buffer, start, length) => writeSync(fd, buffer, start, length),
  sync: promisify(fdatasync),
  truncate: ftruncateSync,
}

export function createCommitter(
  options: JournalOptions,
  epoch: Epoch,
  start: Tail,
  store: Store,
  stamp: () => string,
  report: Report,
) {
  const { dir, origin, signer, seams = {}, segmentBytes = SEGMENT_BYTES } = options
  const files = { ...diskFiles, ...options.files }
  const compose = createComposer(origin, signer)
  let tail = start
  let file = segmentPath(dir, tail.number)
  // Append mode: a writer that was paused past its time can never overwrite what a newer one wrote.
  let fd = openSync(file, 'a', 0o600)
  // A kill leaves lines that the kernel has and no sync confirmed; heads, snapshots and segments to come rely on them.
  fdatasyncSync(fd)
  let inode = fstatSync(fd).ino
  let poison: GateError | null = null
  let indexing: Promise<void> = Promise.resolve()

  const poisoned = (error: GateError): GateError => {
    poison = error
    report({ kind: 'poisoned', why: error.message })
    return error
  }
  const checkEpoch = (): void => {
    try {
      epoch.check()
    } catch (error) {
      throw error instanceof GateError ? poisoned(error) : error
    }
  }

  /** The file must be the one that was opened, and end where our last durable line does. */
  const checkFile = (): void => {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.ino === inode && found.size === tail.offset) return
    const size = found === undefined ? 'no file' : `${found.size} bytes`
    const what = found !== undefined && found.ino !== inode ? 'another file' : size
    throw poisoned(
      new GateError('poisoned', 'somebody else changed the segment being written', {
        file,
        expected: `${tail.offset} bytes`,
        found: what,
      }),
    )
  }

  const write = async (make: () => Composed): Promise<Composed> => {
    if (seams.before_write) await seams.before_write()
    checkEpoch()
    checkFile()
    const batch = make()
    try {
      for (let done = 0; done < batch.length; ) {
        done += files.write(fd, batch.buffer, 1 + done, batch.length - done)
      }
      if (seams.after_write) await seams.after_write()
      if (seams.before_sync) await seams.before_sync()
      await files.sync(fd)
    } catch (error) {
      rollBack()
      throw writeFailure(error, file)
    }
    if (seams.after_sync) await seams.after_sync()
    // Read again before it is acknowledged: a writer that took over meanwhile has not seen these lines.
    checkEpoch()
    settle(batch)
    return batch
  }

  /** Nothing of a failed batch may stay for a later reader; if that cannot be had, nothing more is written. */
  const rollBack = (): void => {
    checkEpoch()
    try {
      if (fstatSync(fd).size === tail.offset) return
      files.truncate(fd, tail.offset)
      fsyncSync(fd)
    } catch (error) {
      throw poisoned(
        new GateError(
          'poisoned',
          `a failed batch could not be taken back: ${messageOf(error)}`,
          { file, expected: `${tail.offset} bytes` },
          error,
        ),
      )
    }
  }

  const settle = ({ contents, length, cursor, counted, end }: Composed): void => {
    for (const { offset, ...line } of contents) {
      tail.contents.add({ ...line, offset: tail.offset + offset })
    }
    tail = {
      ...tail,
      cursor,
      counted,
      offset: tail.offset + length,
      lines: tail.lines + contents.length,
      ...end,
    }
  }

  const seal = async (): Promise<void> => {
    if (seams.before_seal) await seams.before_seal()
    const { number: segment, lines: size, contents, cursor, counted } = tail
    const [root, counts] = [await contents.root(), await contents.counts()]
    await write(() => compose.seal({ segment, size, root, counts }, cursor, counted, stamp()))
    if (seams.after_seal) await seams.after_seal()
    index(tail)
  }

  /** Off the append path: until the file is there, readers use the table in the catalog. */
  const index = ({ number, offset, seal, contents }: Tail): void => {
    if (seal === null) return
    const write = async (): Promise<void> => {
      await store.writeIndex(contents, { number, bytes: offset, seal })
      const segment = store.catalog.find((candidate) => candidate.number === number)
      if (segment !== undefined) segment.contents = null
    }
    indexing = indexing.then(write).catch((error) => {
      report({ kind: 'index_failed', file: indexPath(dir, number), why: messageOf(error) })
    })
  }

  const nextSegment = (): void => {
    const number = tail.number + 1
    const path = segmentPath(dir, number)
    let next: number | null = null
    try {
      next = openSync(path, 'a', 0o600)
      syncFolder(dir)
    } catch (error) {
      if (next !== null) closeSync(next)
      throw writeFailure(error, file)
    }
    closeSync(fd)
    fd = next
    file = path
    inode = fstatSync(fd).ino
    const contents = newContents(number)
    tail = { ...tail, number, offset: 0, lines: 0, contents, seal: null }
    store.catalog.push({ number, first: tail.cursor.seq + 1, archived: false, contents })
  }

  // A crash may have come between the seal and its index.
  index(tail)

  return {
    tail: () => tail,
    /** Why nothing may be written any more. */
    poison: () => poison,
    /** One batch, durable and acknowledged, or nothing of it. */
    async commit(entries: readonly SignedEntry[]): Promise<readonly Appended[]> {
      if (poison !== null) throw poison
      if (tail.seal === null && tail.offset >= segmentBytes) {
        try {
          await seal()
        } catch (error) {
          // A segment may grow past its size while it cannot be sealed, not past what its index can hold.
          if (poison !== null || tail.offset > 2 * MAX_SEGMENT_BYTES) throw error
          report({ kind: 'seal_failed', file, why: messageOf(error) })
        }
      }
      if (tail.seal !== null) nextSegment()
      const { appended } = await write(() =>
        compose.batch(entries, tail.cursor, tail.counted, stamp()),
      )
      return appended
    },
    async close(): Promise<void> {
      await indexing
      await tail.contents.settled()
      closeSync(fd)
    },
  }
}
