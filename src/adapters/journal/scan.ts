import { open } from 'node:fs/promises'
import { SEAL_TYPE } from '../../core/journal/seal.js'
import { blocks } from './blocks.js'
import { type Cursor, openChain } from './chain.js'

export type Scanned = {
  readonly cursor: Cursor
  readonly lines: number
  /** Bytes of whole lines; what follows them is `torn`. */
  readonly bytes: number
  readonly torn: Buffer
  /** Hash of the last line before the seal: what a seal's `head` names. */
  readonly head: string
  /** The last line's text; null for a segment without lines. */
  readonly last: string | null
  readonly sealed: boolean
}

export type LineSeen = {
  readonly buffer: Buffer
  readonly start: number
  /** Excludes the LF. */
  readonly stop: number
  /** The line's place in the file. */
  readonly offset: number
  readonly seq: number
  readonly at: string
  readonly hash: string
  readonly type: string
}

export type ScanRange = {
  readonly file: string
  readonly origin: string
  /** Where the chain stands before the first line. */
  readonly from: Cursor
  readonly chunk: number
  /** Bytes to read when others write behind them; default: the whole file. */
  readonly end?: number
}

const LF = 10

export const textOf = ({ buffer, start, stop }: LineSeen): string =>
  buffer.toString('utf8', start, stop)

/** Reads one segment, checking every line against the chain. */
export async function scanSegment(
  { file, origin, from, chunk, end }: ScanRange,
  visit: (line: LineSeen) => void,
): Promise<Scanned> {
  const handle = await open(file, 'r')
  try {
    const size = end ?? (await handle.stat()).size
    const chain = openChain(file, origin, from)
    let { seq, prev: head } = from
    let bytes = 0
    let last: string | null = null
    let sealed = false
    const reading = blocks(handle, file, 0, size, chunk)
    for (;;) {
      const next = await reading.next()
      if (next.done === true) {
        const ended = { cursor: chain.cursor(), lines: chain.lines(), torn: next.value }
        return { ...ended, bytes, head, last, sealed }
      }
      const block = next.value
      const { buffer } = block
      const shift = block.offset - block.start
      let lastStart = block.start
      for (let start = block.start; start < block.end; ) {
        const stop = buffer.indexOf(LF, start)
        const { type, hash, at } = chain.step(buffer, start, stop)
        sealed = type === SEAL_TYPE
        if (!sealed) head = hash
        seq++
        visit({ buffer, start, stop, offset: start + shift, seq, at, hash, type })
        lastStart = start
        start = stop + 1
      }
      last = buffer.toString('utf8', lastStart, block.end - 1)
      bytes = block.end + shift
    }
  } finally {
    await handle.close()
  }
}
