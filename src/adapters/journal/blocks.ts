import type { FileHandle } from 'node:fs/promises'
import { MAX_LINE_BYTES } from '../../core/journal/line.js'
import { JournalError } from './error.js'

/** Whole lines in [start, end) of `buffer`; the byte before `start` is free for a leaf's 0x00. */
export type Block = {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  /** Where `start` stands in the file. */
  readonly offset: number
}

const CHUNK = 1024 * 1024
const LF = 10

/**
 * Reads [from, to) as blocks of whole lines, the next chunk on its way while the caller works on this
 * one. Returns the bytes after the last LF. A block is the caller's until it asks for the next.
 */
export async function* blocks(
  handle: FileHandle,
  file: string,
  from: number,
  to: number,
): AsyncGenerator<Block, Buffer> {
  const size = Math.min(CHUNK, Math.max(1, to - from))
  const buffers = [Buffer.allocUnsafe(size), Buffer.allocUnsafe(size)]
  let at = from
  let turn = 0
  let rest: Buffer = Buffer.alloc(0)
  const readNext = (): Promise<Buffer> => {
    const buffer = buffers[turn % 2] as Buffer
    turn++
    return fill(handle, buffer, at, Math.min(size, to - at))
  }
  let pending = at < to ? readNext() : null
  try {
    while (pending !== null) {
      const chunk: Buffer = await pending
      at += chunk.length
      if (chunk.length === 0) break
      const last = chunk.lastIndexOf(LF)
      // The carried line and the spare byte need room in front, so whole lines go to a buffer of their own.
      const block = Buffer.allocUnsafe(1 + rest.length + last + 1)
      if (last >= 0) {
        rest.copy(block, 1)
        chunk.copy(block, 1 + rest.length, 0, last + 1)
      }
      const offset = at - chunk.length - rest.length
      const tail = chunk.subarray(last + 1)
      rest = last < 0 ? Buffer.concat([rest, tail]) : Buffer.from(tail)
      if (rest.length > MAX_LINE_BYTES) {
        throw new JournalError('damaged', 'a line has no end', {
          file,
          found: `${rest.length} bytes`,
        })
      }
      pending = at < to ? readNext() : null
      if (last >= 0) yield { buffer: block, start: 1, end: block.length, offset }
    }
  } finally {
    // A caller that stops early closes the handle next: the read under way must have let go of it.
    await Promise.allSettled([pending])
  }
  return rest
}

async function fill(handle: FileHandle, into: Buffer, at: number, length: number): Promise<Buffer> {
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(into, read, length - read, at + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return into.subarray(0, read)
}
