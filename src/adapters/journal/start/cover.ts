import { GateError } from '../../../core/error.js'
import { type HeadCheck, readHeadLine, type SignedHead } from '../../../core/journal/head.js'
import { nodeCrypto } from '../../crypto-node.js'
import { open } from '../../disk/files.js'
import { type JournalOptions, MAX_SEGMENT_BYTES } from '../model.js'
import type { Cursor } from '../read/chain.js'
import type { Mark, Scanned } from '../read/scan.js'

/** How far the newest segment counts, and the octets behind that. */
export type Cover = Mark & {
  /** The newest head; null where none was written yet, or in version 1. */
  readonly head: SignedHead | null
  /** The line of that head when it is a seal: the segment ends with it. */
  readonly seal: string | null
  /** What an unfinished batch left; empty where nothing has to be cut. */
  readonly unfinished: Buffer
}

/**
 * Lines count that a signed head covers (DESIGN §5). Behind the newest such head only one unfinished batch may
 * stand: at most one more head line, and that as the last line of the file, because a power loss may keep the end
 * of a batch and lose its middle. Anything else was not left by a crash and is damage.
 */
export async function coverOf(
  file: string,
  start: Cursor,
  scanned: Scanned,
  trust: Pick<JournalOptions, 'origin' | 'keys'>,
): Promise<Cover> {
  const found = newestGood(start, scanned, trust)
  if (found.bytes === scanned.size) return { ...found, unfinished: Buffer.alloc(0) }
  const place = { file, line: found.lines + 1 }
  if (scanned.size - found.bytes > 2 * MAX_SEGMENT_BYTES) {
    const octets = `${scanned.size - found.bytes} bytes`
    throw new GateError('damaged', 'more stands behind the newest head than a batch can hold', {
      ...place,
      found: octets,
    })
  }
  const unfinished = await readFrom(file, found.bytes, scanned.size)
  if (isOneBatch(unfinished)) return { ...found, unfinished }
  // A line that does not link says more than a head that is missing.
  if (scanned.fault !== null) throw scanned.fault
  throw new GateError('damaged', `the newest head does not hold: ${found.why}`, place)
}

type Found = Omit<Cover, 'unfinished'> & { readonly why: string }

/** The newest head whose signature holds, or the one before it: a batch's own head may be what was lost. */
function newestGood(
  start: Cursor,
  { heads, version1 }: Scanned,
  { origin, keys }: Pick<JournalOptions, 'origin' | 'keys'>,
): Found {
  let why = 'lines stand behind it that no head covers'
  for (const { text, ...mark } of heads) {
    const check: HeadCheck = readHeadLine(text, origin, keys, nodeCrypto)
    if (check.ok) {
      return { ...mark, head: check.head, seal: check.kind === 'seal' ? text : null, why }
    }
    why = check.why
  }
  const none = { head: null, seal: null, why }
  // Both heads are bad: no crash does that, and the octets behind this place say so.
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

async function readFrom(file: string, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from)
  const handle = await open(file, 'r')
  try {
    for (let done = 0; done < buffer.length; ) {
      const { bytesRead } = await handle.read(buffer, done, buffer.length - done, from + done)
      if (bytesRead === 0) break
      done += bytesRead
    }
  } finally {
    await handle.close()
  }
  return buffer
}
