import { GateError } from '../../../core/error.js'
import type { LineVersion } from '../../../core/journal/line.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import { isHeadType } from '../../../core/journal/vocabulary.js'
import { open } from '../../disk/files.js'
import { blocks } from './blocks.js'
import { type Cursor, openChain, type Stepped } from './chain.js'

/** A place behind a line of the file: all before it was read and linked. */
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
  /** Hash of the last line before the seal: what a seal's `hash` names. */
  readonly beforeSeal: string
  /** The last line's text; null for a segment without lines. */
  readonly last: string | null
  readonly sealed: boolean
  /** The newest two head lines of version 2, newest first; nothing but their link was checked. */
  readonly heads: readonly HeadMark[]
  /** Behind the last line of version 1; null where the file holds none. */
  readonly version1: Mark | null
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
  readonly v: LineVersion
}

export type ScanRange = {
  readonly file: string
  readonly origin: string
  /** Where the chain stands before the first line. */
  readonly from: Cursor
  readonly chunk: number
  /** Bytes to read when others write behind them; default: the whole file. */
  readonly end?: number
  /** Called between chunks by a reader that must leave time to others. */
  readonly rest?: () => Promise<void>
}

const LF = 10

export const textOf = ({ buffer, start, stop }: Pick<LineSeen, 'buffer' | 'start' | 'stop'>) =>
  buffer.toString('utf8', start, stop)

/** Reads one segment, checking every line against the chain; a line that does not link is thrown. */
export async function scanSegment(
  range: ScanRange,
  visit: (line: LineSeen) => void,
): Promise<Scanned> {
  const scanned = await scanToFault(range, visit)
  if (scanned.fault !== null) throw scanned.fault
  return scanned
}

/** The same up to the first line that does not link: what a crash left may stand there. */
export async function scanToFault(
  { file, origin, from, chunk, end, rest }: ScanRange,
  visit: (line: LineSeen) => void,
): Promise<Scanned> {
  const handle = await open(file, 'r')
  try {
    const size = end ?? (await handle.stat()).size
    const chain = openChain(file, origin, from)
    let { seq, prev: beforeSeal } = from
    let bytes = 0
    let last: string | null = null
    let sealed = false
    let heads: readonly HeadMark[] = []
    let version1: Mark | null = null
    const mark = (): Mark => ({ cursor: chain.cursor(), lines: chain.lines(), bytes })
    const done = (fault: GateError | null): Scanned => {
      return { ...mark(), size, fault, beforeSeal, last, sealed, heads, version1 }
    }
    const reading = blocks(handle, file, 0, size, chunk)
    for (;;) {
      const next = await reading.next().catch(onlyGateError)
      if (next instanceof GateError) return done(next)
      if (next.done === true) return done(null)
      const { buffer, offset, start: begin, end: blockEnd } = next.value
      const shift = offset - begin
      // Text is taken from the buffer once per block, not once per head.
      let found: { readonly mark: Mark; readonly start: number; readonly stop: number }[] = []
      let lastAt = { start: begin, stop: begin }
      let fault: GateError | null = null
      for (let start = begin; start < blockEnd; ) {
        const stop = buffer.indexOf(LF, start)
        let line: Stepped
        try {
          line = chain.step(buffer, start, stop)
        } catch (error) {
          fault = onlyGateError(error)
          break
        }
        const { type, hash, at, v } = line
        sealed = type === SEAL_TYPE
        if (!sealed) beforeSeal = hash
        seq++
        bytes = stop + 1 + shift
        visit({ buffer, start, stop, offset: start + shift, seq, at, hash, type, v })
        if (v === 1) version1 = mark()
        else if (isHeadType(type)) {
          const [before] = found.slice(-1)
          found = before === undefined ? [] : [before]
          found.push({ mark: mark(), start, stop })
        }
        lastAt = { start, stop }
        start = stop + 1
      }
      const taken = found.map(({ mark, ...at }) => ({ ...mark, text: textOf({ buffer, ...at }) }))
      heads = [...taken.reverse(), ...heads].slice(0, 2)
      if (lastAt.stop > lastAt.start) last = textOf({ buffer, ...lastAt })
      if (fault !== null) {
        await reading.return(Buffer.alloc(0))
        return done(fault)
      }
      if (rest !== undefined) await rest()
    }
  } finally {
    await handle.close()
  }
}

function onlyGateError(error: unknown): GateError {
  if (error instanceof GateError) return error
  throw error
}
