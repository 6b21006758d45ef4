import { GateError } from '../../../core/error.js'
import { isHeadType } from '../../../core/journal/vocabulary.js'
import type { FileHandle } from '../../disk/files.js'
import { withFile } from '../../disk/with-file.js'
import { blocks } from './blocks.js'
import { type Cursor, cursorBehind, type LinkedLine, openChain, textOf } from './chain.js'

/** Behind a line of the file: all before it was read and linked. */
export type Mark = {
  readonly cursor: Cursor
  /** Lines and bytes of the file up to here. */
  readonly lines: number
  readonly bytes: number
}
export type HeadMark = Mark & {
  /** The head line itself, a HEAD or a seal. */
  readonly text: string
}

export type Scanned = Mark & {
  /** Bytes of the file; what follows `bytes` is no whole line, or none that links. */
  readonly size: number
  /** Why reading ended before the last whole line; null where it did not. */
  readonly fault: GateError | null
  /** Null for a segment without lines. */
  readonly last: (Pick<LinkedLine, 'type' | 'prev'> & { readonly text: string }) | null
  /** The newest two head lines of version 2, newest first; nothing but their link was checked. */
  readonly heads: readonly HeadMark[]
  /** Behind the last line of version 1; null where the file holds none. */
  readonly version1: Mark | null
}

export type Chained = {
  readonly file: string
  readonly origin: string
  /** Where the chain stands before the first line. */
  readonly from: Cursor
  readonly chunk: number
}
export type ScanRange = Chained & {
  /** Bytes to read when others write behind them; default: the whole file. */
  readonly end?: number | undefined
  /** Called between chunks by a reader that must leave time to others. */
  readonly rest?: (() => Promise<void>) | undefined
}

const LF = 10

/** A block of lines; the last one says how reading ended: at a fault, or with bytes behind the last LF. */
export type LinkedLines = {
  readonly lines: readonly LinkedLine[]
  readonly fault: GateError | null
  readonly rest: number
}

/** The lines of [0, end), block by block, as far as they link. Each block is the caller's until it asks for the next. */
export async function* linkedLines(
  handle: FileHandle,
  { file, origin, from, chunk }: Chained,
  end: number,
): AsyncGenerator<LinkedLines> {
  const link = openChain(file, origin, from)
  const reading = blocks(handle, file, 0, end, chunk)
  try {
    for (let fault: GateError | null = null; fault === null; ) {
      const lines: LinkedLine[] = []
      const next = await reading.next().catch(onlyGateError)
      if (next instanceof GateError) return yield { lines, fault: next, rest: 0 }
      if (next.done === true) return yield { lines, fault, rest: next.value.length }
      const { buffer, offset, start: begin, end: blockEnd } = next.value
      try {
        for (let start = begin; start < blockEnd; ) {
          const stop = buffer.indexOf(LF, start)
          lines.push(link(buffer, start, stop, start - begin + offset))
          start = stop + 1
        }
      } catch (error) {
        fault = onlyGateError(error)
      }
      yield { lines, fault, rest: 0 }
    }
  } finally {
    await reading.return(Buffer.alloc(0))
  }
}

/** Reads one segment, checking every line against the chain; a line that does not link is thrown. */
export async function scanSegment(
  range: ScanRange,
  visit: (line: LinkedLine) => void,
): Promise<Scanned> {
  const scanned = await scanToFault(range, visit)
  if (scanned.fault !== null) throw scanned.fault
  return scanned
}

/** The same up to the first line that does not link: what a crash left may stand there. */
export function scanToFault(range: ScanRange, visit: (line: LinkedLine) => void): Promise<Scanned> {
  const { file, from, end, rest } = range
  const behind = (line: LinkedLine): Mark => ({
    cursor: cursorBehind(line),
    lines: line.seq - from.seq,
    bytes: line.offset + line.stop - line.start + 1,
  })
  return withFile(file, 'r', async (handle) => {
    const size = end ?? (await handle.stat()).size
    let mark: Mark = { cursor: from, lines: 0, bytes: 0 }
    let last: Scanned['last'] = null
    let heads: readonly HeadMark[] = []
    let version1: Mark | null = null
    let fault: GateError | null = null
    for await (const block of linkedLines(handle, range, size)) {
      const { lines } = block
      fault = block.fault
      for (const line of lines) visit(line)
      const newest = lines.at(-1)
      if (newest === undefined) continue
      mark = behind(newest)
      last = { type: newest.type, prev: newest.prev, text: textOf(newest) }
      const old = lines.findLast(({ v }) => v === 1)
      if (old !== undefined) version1 = behind(old)
      const found = lines.filter(({ v, type }) => v === 2 && isHeadType(type)).slice(-2)
      const marks = found.map((line) => ({ ...behind(line), text: textOf(line) }))
      heads = [...marks.reverse(), ...heads].slice(0, 2)
      if (rest !== undefined) await rest()
    }
    return { ...mark, size, fault, last, heads, version1 }
  })
}

function onlyGateError(error: unknown): GateError {
  if (error instanceof GateError) return error
  throw error
}
