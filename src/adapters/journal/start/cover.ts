import { GateError } from '../../../core/error.js'
import { readHeadLine, type SignedHead } from '../../../core/journal/head.js'
import { nodeCrypto } from '../../crypto-node.js'
import { readFully, withFile } from '../../disk/with-file.js'
import { type JournalOptions, MAX_SEGMENT_BYTES, type Trust } from '../model.js'
import { BOOT_CHUNK } from '../read/blocks.js'
import type { Cursor, LinkedLine } from '../read/chain.js'
import { type Mark, type Scanned, scanSegment, scanToFault } from '../read/scan.js'
import { segmentPath } from '../segments.js'

/** How far the newest segment counts, and the octets behind that. */
export type Cover = Mark & {
  /** The newest head; null where none was written yet, or in version 1. */
  readonly head: SignedHead | null
  /** The line of that head when it is a seal: the segment ends with it. */
  readonly seal: string | null
  /** What an unfinished batch left; empty where nothing has to be cut. */
  readonly unfinished: Buffer
}

/** The last segment: its number, the chain before it, and how far it counts. */
export type Tail = {
  readonly number: number
  readonly start: Cursor
  readonly cover: Cover
}

/** Reads these segments as one chain; `closed` checks the seal of each but the last. */
export async function readSegments(
  options: Pick<JournalOptions, 'dir'> & Trust,
  numbers: readonly number[],
  from: Cursor,
  visit: (line: LinkedLine, file: string, start: Cursor) => void,
  closed: (file: string, number: number, scanned: Scanned) => void,
): Promise<Tail> {
  let start = from
  for (const number of numbers) {
    const file = segmentPath(options.dir, number)
    const range = { file, origin: options.origin, from: start, chunk: BOOT_CHUNK }
    const before = start
    const see = (line: LinkedLine): void => visit(line, file, before)
    if (number === numbers.at(-1)) {
      return { number, start, cover: await coverOf(range, await scanToFault(range, see), options) }
    }
    const scanned = await scanSegment(range, see)
    closed(file, number, scanned)
    start = scanned.cursor
  }
  throw new TypeError('a journal has at least one segment')
}

/**
 * Lines count that a signed head covers (DESIGN §5). Behind the newest such head only one unfinished batch may
 * stand: at most one more head line, and that as the last line of the file, because a power loss may keep the end
 * of a batch and lose its middle. Anything else was not left by a crash and is damage.
 */
async function coverOf(
  { file, from }: { readonly file: string; readonly from: Cursor },
  scanned: Scanned,
  trust: Trust,
): Promise<Cover> {
  const { why, ...found } = newestGood(from, scanned, trust)
  const length = scanned.size - found.bytes
  if (length === 0) return { ...found, unfinished: Buffer.alloc(0) }
  const location = { file, line: found.lines + 1 }
  if (length > 2 * MAX_SEGMENT_BYTES) {
    throw new GateError('damaged', 'more stands behind the newest head than a batch can hold', {
      ...location,
      found: `${length} bytes`,
    })
  }
  const unfinished = Buffer.alloc(length)
  await withFile(file, 'r', (handle) => readFully(handle, unfinished, found.bytes))
  if (isOneBatch(unfinished)) return { ...found, unfinished }
  // A line that does not link says more than a head that is missing.
  throw scanned.fault ?? new GateError('damaged', `the newest head does not hold: ${why}`, location)
}

/** The newest head whose signature holds, or the one before it: a batch's own head may be what was lost. */
function newestGood(
  start: Cursor,
  { heads, version1 }: Scanned,
  { origin, keys }: Trust,
): Omit<Cover, 'unfinished'> & { readonly why: string } {
  let why = 'lines stand behind it that no head covers'
  for (const { text, ...mark } of heads) {
    const check = readHeadLine(text, origin, keys, nodeCrypto)
    if (check.ok) {
      return { ...mark, head: check.head, seal: check.kind === 'seal' ? text : null, why }
    }
    why = check.why
  }
  const none = { head: null, seal: null, why }
  // Both heads are bad: no crash does that, and the octets behind the segment's start say so.
  if (heads.length < 2 && version1 !== null) return { ...version1, ...none }
  return { cursor: start, lines: 0, bytes: 0, ...none }
}

/** Only an envelope has `at` before `type`, so text inside a line cannot pose as a head. */
const HEAD_LINE = /"at":"[^"]{24}","type":"(?:HEAD|SEGMENT_SEALED)"/g
const LF = 10

function isOneBatch(octets: Buffer): boolean {
  const text = octets.toString('latin1')
  const heads = [...text.matchAll(HEAD_LINE)]
  if (heads.length === 0) return true
  const lastLine = octets.lastIndexOf(LF, octets.length - 2) + 1
  return heads.length === 1 && (heads[0]?.index ?? 0) >= lastLine
}
