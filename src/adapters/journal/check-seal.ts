import { readSeal, sealFault } from '../../core/journal/seal.js'
import { nodeCrypto } from '../crypto-node.js'
import type { Cursor } from './chain.js'
import { JournalError } from './error.js'
import { leafHashAt } from './hash.js'
import { readIndexHeader } from './index-file.js'
import type { JournalOptions } from './model.js'
import type { Scanned } from './scan.js'
import { indexPath, segmentPath } from './segments.js'

type Trust = Pick<JournalOptions, 'origin' | 'keys'>

/**
 * A closed segment: whole lines only, and a signed seal that says what they add up to. The chain and
 * the seal's head already fix every line; the root, which costs as much again, may be left for later.
 */
export function checkSeal(
  file: string,
  number: number,
  scanned: Scanned,
  root: string | 'later',
  trust: Trust,
): void {
  const place = { file, line: Math.max(1, scanned.lines) }
  if (scanned.torn.length > 0) {
    const found = `${scanned.torn.length} bytes without a line end`
    throw new JournalError('damaged', 'the segment is cut short', { ...place, found })
  }
  if (scanned.last === null || !scanned.sealed) {
    throw new JournalError('damaged', 'a closed segment has no seal', {
      ...place,
      expected: 'a SEGMENT_SEALED line at the end',
      found: scanned.last === null ? 'no lines' : scanned.last.slice(0, 200),
    })
  }
  const check = readSeal(parseSeal(scanned.last), trust.origin, trust.keys, nodeCrypto)
  if (!check.ok) throw new JournalError('damaged', check.why, place)
  const { head, lines } = scanned
  const { seal } = check
  const counted = { segment: number, size: lines - 1, head }
  const fault = sealFault(seal, { ...counted, root: root === 'later' ? seal.root : root })
  if (fault !== null) throw new JournalError('damaged', fault, place)
}

/** The chain after a segment that is not here, by the signed seal its index repeats. */
export async function archivedCursor(
  dir: string,
  number: number,
  before: Cursor,
  trust: Trust,
): Promise<Cursor> {
  const file = indexPath(dir, number)
  const fault = (why: string): JournalError =>
    new JournalError(
      'damaged',
      `segment ${number} is not here and its index does not vouch for it: ${why}. Put ${segmentPath(dir, number)} back`,
      { file },
    )
  const text = (await readIndexHeader(file))?.seal
  if (text === undefined) throw fault('it cannot be read')
  const check = readSeal(parseSeal(text), trust.origin, trust.keys, nodeCrypto)
  if (!check.ok) throw fault(check.why)
  if (check.seal.segment !== number) throw fault(`it seals segment ${check.seal.segment}`)
  if (check.seq !== before.seq + check.seal.size + 1) throw fault(`its seal is line ${check.seq}`)
  const bytes = Buffer.from(` ${text}`)
  return { seq: check.seq, prev: leafHashAt(bytes, 1, bytes.length), at: check.at }
}

function parseSeal(text: string): { readonly [member: string]: unknown } {
  try {
    const line: unknown = JSON.parse(text)
    return typeof line === 'object' && line !== null ? { ...line } : {}
  } catch {
    return {}
  }
}
