import { GateError } from '../../../core/error.js'
import type { JournalLine } from '../../../ports/journal.js'
import { ifThere } from '../../disk/errno.js'
import { type FileHandle, open, stat, watch } from '../../disk/files.js'
import { listSegments, segmentPath } from '../segments.js'
import { BACKGROUND_CHUNK, blocks } from './blocks.js'
import { cutShort, parseLine } from './lines.js'

/**
 * The lines as they stand in the files, for readers beside the writer: no lock, no linkage check
 * (that is the verifier's), oldest first. What is shown may be a moment away from durable; if the
 * writer has to take such a line back, following ends with `rolled_back`.
 */
export type ReadLine = {
  readonly line: JournalLine
  /** The line's exact bytes, without LF. */
  readonly raw: Uint8Array
  readonly file: string
  readonly lineNo: number
}
export type ReadOptions = {
  /** Go on as lines are written, until the signal says stop. */
  readonly follow?: { readonly signal: AbortSignal }
  /** The first segment to read; default: the oldest that is here. */
  readonly from?: number
}

const LF = 10
/** For file systems that report no changes. */
const POLL_MS = 1000

export async function* readJournal(
  dir: string,
  options: ReadOptions = {},
): AsyncGenerator<ReadLine> {
  const { present } = await listSegments(dir)
  const changes = options.follow === undefined ? null : watchFolder(dir, options.follow.signal)
  try {
    for (let number = options.from ?? present[0]; number !== undefined; ) {
      const handle = await open(segmentPath(dir, number), 'r')
      try {
        yield* readSegment(handle, dir, number, changes)
      } finally {
        await handle.close()
      }
      number = (await exists(dir, number + 1)) ? number + 1 : undefined
    }
  } finally {
    changes?.close()
  }
}

/** Ends when the segment is over: a next one is there, or no more is asked for. */
async function* readSegment(
  handle: FileHandle,
  dir: string,
  number: number,
  changes: ReturnType<typeof watchFolder> | null,
): AsyncGenerator<ReadLine> {
  const file = segmentPath(dir, number)
  let at = 0
  let lineNo = 0
  for (;;) {
    // Asked before reading: whatever was written before the next segment appeared is then read.
    const over = await exists(dir, number + 1)
    const seen = changes?.count() ?? 0
    const { size } = await handle.stat()
    if (size < at) {
      throw new GateError('rolled_back', 'the writer took back a line shown here', { file })
    }
    const reading = blocks(handle, file, at, size, BACKGROUND_CHUNK)
    for (;;) {
      const next = await reading.next()
      if (next.done === true) {
        if (over && next.value.length > 0) throw cutShort(file, lineNo + 1, next.value.length)
        at = size - next.value.length
        break
      }
      const { buffer, end } = next.value
      for (let start = next.value.start; start < end; ) {
        const stop = buffer.indexOf(LF, start)
        lineNo++
        const line = parseLine({ buffer, start, stop }, { file, line: lineNo })
        yield { line, raw: Uint8Array.from(buffer.subarray(start, stop)), file, lineNo }
        start = stop + 1
      }
    }
    if (over || changes === null || !(await changes.after(seen))) return
  }
}

const exists = async (dir: string, number: number): Promise<boolean> =>
  (await ifThere(stat(segmentPath(dir, number)))) !== null

function watchFolder(dir: string, signal: AbortSignal) {
  let count = 0
  let wake = (): void => {}
  const changed = (): void => {
    count++
    wake()
  }
  const stop = (): void => wake()
  const watcher = watch(dir, changed)
  watcher.on('error', changed)
  const poll = setInterval(changed, POLL_MS)
  signal.addEventListener('abort', stop)
  return {
    count: () => count,
    /** True once there were more than `seen` changes; false when the signal says stop. */
    async after(seen: number): Promise<boolean> {
      while (!signal.aborted && count <= seen) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return !signal.aborted
    },
    close(): void {
      clearInterval(poll)
      watcher.close()
      signal.removeEventListener('abort', stop)
    },
  }
}
