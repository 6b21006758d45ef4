import { GateError } from '../../../core/error.js'
import { MAX_LINE_BYTES } from '../../../core/journal/line.js'
import type { FileHandle } from '../../disk/files.js'
import { readFully } from '../../disk/with-file.js'

/** Whole lines in [start, end) of `buffer`; the byte before `start` is free for a leaf's 0x00. */
export type Block = {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  /** Where `start` stands in the file. */
  readonly offset: number
}

/** Room in front of each chunk for the line that began in the one before. */
const HEADROOM = 64 * 1024
const LF = 10

/** What boot reads at once; behind a running gate, a chunk that holds the loop for a millisecond or two. */
export const BOOT_CHUNK = 1024 * 1024
export const BACKGROUND_CHUNK = 128 * 1024

/**
 * Reads [from, to) as blocks of whole lines, the next chunk on its way while the caller works on this
 * one. Returns the bytes after the last LF. A block is the caller's until it asks for the next.
 */
export async function* blocks(
  handle: FileHandle,
  file: string,
  from: number,
  to: number,
  chunk: number,
): AsyncGenerator<Block, Buffer> {
  const size = Math.min(chunk, to - from)
  const buffers = [0, 1].map(() => Buffer.allocUnsafe(HEADROOM + size))
  let at = from
  let turn = 0
  let rest: Buffer = Buffer.alloc(0)
  const read = () => {
    const buffer = buffers[turn++ % 2] as Buffer
    const wanted = Math.min(size, to - at)
    return readFully(handle, buffer, at, HEADROOM, wanted).then((length) => ({ buffer, length }))
  }
  let pending = at < to ? read() : null
  try {
    while (pending !== null) {
      const { buffer, length } = await pending
      pending = null
      if (length === 0) break
      const offset = at - rest.length
      at += length
      const block = join(rest, buffer, length)
      const end = block.buffer.lastIndexOf(LF, block.end - 1) + 1
      const whole = end > block.start
      // Copied out before the buffer it stands in is read into again.
      rest = Buffer.from(block.buffer.subarray(whole ? end : block.start, block.end))
      if (rest.length > MAX_LINE_BYTES) {
        const found = `${rest.length} bytes without a line end`
        throw new GateError('damaged', 'a line has no end', { file, found })
      }
      if (at < to) pending = read()
      if (whole) yield { buffer: block.buffer, start: block.start, end, offset }
    }
  } finally {
    // A caller that stops early closes the handle next: the read under way must have ended.
    await Promise.allSettled([pending])
  }
  return rest
}

/** The carried bytes directly before the chunk: in its headroom, or in a larger buffer for a long line. */
function join(rest: Buffer, buffer: Buffer, length: number): Omit<Block, 'offset'> {
  if (rest.length < HEADROOM) {
    const start = HEADROOM - rest.length
    rest.copy(buffer, start)
    return { buffer, start, end: HEADROOM + length }
  }
  const chunk = buffer.subarray(HEADROOM, HEADROOM + length)
  const joined = Buffer.concat([Buffer.alloc(1), rest, chunk])
  return { buffer: joined, start: 1, end: joined.length }
}
