import { GateError } from '../../../core/error.js'
import type { SealMembers } from '../../../core/journal/head.js'
import { readSeal, sealFault } from '../../../core/journal/seal.js'
import { nodeCrypto } from '../../crypto-node.js'
import { readIndexHeader } from '../index/index-file.js'
import type { JournalOptions } from '../model.js'
import type { Cursor } from '../read/chain.js'
import { leafHashAt } from '../read/hash.js'
import type { Scanned } from '../read/scan.js'
import { indexPath, segmentPath } from '../segments.js'

type Trust = Pick<JournalOptions, 'origin' | 'keys'>
/** What only a reader of every line has: it costs as much again as the chain, so a start leaves it for later. */
export type SealedContents = {
  readonly root: string
  readonly counts: { readonly [type: string]: number }
}

/**
 * A closed segment: whole lines only, and a signed seal that says what they add up to. The chain and
 * the seal's hash already fix every line.
 */
export function checkSeal(
  file: string,
  number: number,
  scanned: Scanned,
  contents: SealedContents | 'later',
  trust: Trust,
): { readonly head: SealMembers | null } {
  const place = { file, line: Math.max(1, scanned.lines) }
  if (scanned.bytes < scanned.size) {
    const found = `${scanned.size - scanned.bytes} bytes without a line end`
    throw new GateError('damaged', 'the segment is cut short', { ...place, found })
  }
  if (scanned.last === null || !scanned.sealed) {
    throw new GateError('damaged', 'a closed segment has no seal', {
      ...place,
      expected: 'a SEGMENT_SEALED line at the end',
      found: scanned.last === null ? 'no lines' : scanned.last.slice(0, 200),
    })
  }
  const check = readSeal(scanned.last, trust.origin, trust.keys, nodeCrypto)
  if (!check.ok) throw new GateError('damaged', check.why, place)
  const { beforeSeal, lines } = scanned
  const { seal, head } = check
  const counted = { segment: number, size: lines - 1, hash: beforeSeal }
  const root = contents === 'later' ? seal.root : contents.root
  const fault =
    sealFault(seal, { ...counted, root }) ??
    (contents === 'later' || head === null ? null : countsFault(head.counts, contents.counts))
  if (fault !== null) throw new GateError('damaged', fault, place)
  return { head }
}

function countsFault(
  said: { readonly [type: string]: number },
  found: { readonly [type: string]: number },
): string | null {
  const types = [...new Set([...Object.keys(said), ...Object.keys(found)])]
  const wrong = types.find((type) => said[type] !== found[type])
  return wrong === undefined
    ? null
    : `seal says ${said[wrong] ?? 0} ${wrong} lines, the segment holds ${found[wrong] ?? 0}`
}

/** A segment that is not here, by the signed seal its index repeats. */
export async function archivedSeal(
  dir: string,
  number: number,
  before: Cursor,
  trust: Trust,
): Promise<{ readonly cursor: Cursor; readonly head: SealMembers | null }> {
  const file = indexPath(dir, number)
  const fault = (why: string): GateError =>
    new GateError(
      'damaged',
      `segment ${number} is not here and its index does not vouch for it: ${why}. Put ${segmentPath(dir, number)} back`,
      { file },
    )
  const text = (await readIndexHeader(file))?.seal
  if (text === undefined) throw fault('it cannot be read')
  const check = readSeal(text, trust.origin, trust.keys, nodeCrypto)
  if (!check.ok) throw fault(check.why)
  const { seal, seq, at, head } = check
  if (seal.segment !== number) throw fault(`it seals segment ${seal.segment}`)
  if (seq !== before.seq + seal.size + 1) throw fault(`its seal is line ${seq}`)
  const bytes = Buffer.from(` ${text}`)
  const prev = leafHashAt(bytes, 1, bytes.length)
  return { cursor: { seq, prev, at, v: head === null ? 1 : 2 }, head }
}
