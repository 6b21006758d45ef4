import { GateError } from '../../../core/error.js'
import type { SealMembers } from '../../../core/journal/head.js'
import { readSeal, SEAL_TYPE, sealFault } from '../../../core/journal/seal.js'
import { nodeCrypto } from '../../crypto-node.js'
import type { Trust } from '../model.js'
import { cutShort } from '../read/lines.js'
import type { Scanned } from '../read/scan.js'

/** What only a reader of every line has: it costs as much again as the chain, so a start leaves it for later. */
export type SealedContents = Pick<SealMembers, 'root' | 'counts'>

/**
 * A closed segment: whole lines only, and a signed seal that states what they add up to; returned as the head it is,
 * null in version 1. The chain and the seal's hash already fix every line.
 */
export function checkSeal(
  file: string,
  number: number,
  { last, lines, bytes, size }: Scanned,
  contents: SealedContents | 'later',
  { origin, keys }: Trust,
): SealMembers | null {
  const location = { file, line: Math.max(1, lines) }
  if (bytes < size) throw cutShort(file, location.line, size - bytes)
  if (last?.type !== SEAL_TYPE) {
    throw new GateError('damaged', 'a closed segment has no seal', {
      ...location,
      expected: 'a SEGMENT_SEALED line at the end',
      found: last === null ? 'no lines' : last.text.slice(0, 200),
    })
  }
  const check = readSeal(last.text, origin, keys, nodeCrypto)
  if (!check.ok) throw new GateError('damaged', check.why, location)
  const { seal, head } = check
  const root = contents === 'later' ? seal.root : contents.root
  const fault =
    sealFault(seal, { segment: number, size: lines - 1, hash: last.prev, root }) ??
    (contents === 'later' || head === null ? null : countsFault(head.counts, contents.counts))
  if (fault !== null) throw new GateError('damaged', fault, location)
  return head
}

function countsFault(said: SealMembers['counts'], found: SealMembers['counts']): string | null {
  const types = [...new Set([...Object.keys(said), ...Object.keys(found)])]
  const wrong = types.find((type) => said[type] !== found[type])
  return wrong === undefined
    ? null
    : `seal says ${said[wrong] ?? 0} ${wrong} lines, the segment holds ${found[wrong] ?? 0}`
}
