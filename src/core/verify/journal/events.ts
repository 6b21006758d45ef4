import type { Crypto } from '../../crypto/crypto.js'
import { verifyEvent } from '../../journal/event.js'
import { isHeadType, isSignedType, type LineOf } from '../../journal/vocabulary.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import type { Findings } from '../finding.js'
import type { Event, Link } from './line.js'
import type { Missing } from './missing.js'

/**
 * Signatures of events. Version 1 knew lines without one that are signed today: such a line holds only if the
 * ADOPTED line behind it names it, because then an operator accepted it and the gate signed that.
 */
export function createEvents(
  keys: readonly PublicKeyRecord[] | undefined,
  crypto: Crypto,
  missing: Missing,
) {
  let unsigned: number[] = []
  let accepted = 0

  const refuse = (findings: Findings): void => {
    for (const seq of unsigned)
      findings.fault('event_unsigned', `seq ${seq}: lines of its type are signed`)
    unsigned = []
  }
  return {
    /** Whether it may be built upon: its signature holds, it needs none, or there is no key to check it with. */
    check({ v, seq, type }: Link, event: Event, findings: Findings): boolean {
      if (!isSignedType(type) || isHeadType(type)) return true
      const signed = 'kid' in event && 'sig' in event
      if (!signed && v === 1) {
        unsigned.push(seq)
        return false
      }
      if (!signed) {
        findings.fault('event_unsigned', `${type}: lines of this type are signed`)
        return false
      }
      if (keys === undefined) return true
      const read = verifyEvent(event, keys, crypto)
      if (read.ok) return true
      if (read.code === 'kid_unknown') {
        findings.warn('event_key_unknown', `${type}: kid ${event.kid}`)
        missing.addKey(event.kid)
        return true
      }
      findings.fault('event_signature', `${type}: ${read.code}`)
      return false
    },
    adopted(line: LineOf<'ADOPTED'>, findings: Findings): void {
      const listed = new Set(line.unsigned)
      accepted = unsigned.filter((seq) => listed.has(seq)).length
      unsigned = unsigned.filter((seq) => !listed.has(seq))
      refuse(findings)
    },
    /** Lines without signature that an adoption accepted. */
    accepted: (): number => accepted,
    end: refuse,
  }
}
