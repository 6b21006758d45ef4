import { verifyEvent } from '../../core/journal/event.js'
import { SEAL_TYPE } from '../../core/journal/seal.js'
import { isSignedType } from '../../core/journal/vocabulary.js'
import { nodeCrypto } from '../crypto-node.js'
import { JournalError } from './error.js'
import { parseLine } from './lines.js'
import type { JournalOptions } from './model.js'
import type { LineSeen } from './scan.js'

/**
 * A hash link proves order, not authorship: what the state obeys must be signed by this gate's own event
 * key. The chain has checked the origin already; seals are compared with their whole segment elsewhere.
 */
export function checkSigned(
  { buffer, start, stop, seq, type }: LineSeen,
  place: { readonly file: string; readonly line: number },
  { keys }: Pick<JournalOptions, 'keys'>,
): void {
  if (!isSignedType(type) || type === SEAL_TYPE) return
  const line = parseLine(buffer, start, stop, place)
  const check = line.type === type ? verifyEvent(line, keys, nodeCrypto) : TWO_TYPES
  if (check.ok) return
  throw new JournalError(
    'damaged',
    `line ${seq} is a ${type} that this gate did not sign (${check.code}), so it is not obeyed and nothing ` +
      'was changed. Find out who wrote it, then put back a copy of the journal from before it',
    place,
  )
}

const TWO_TYPES = { ok: false, code: 'malformed' } as const
