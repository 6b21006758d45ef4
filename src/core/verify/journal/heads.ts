import { fromUtf8 } from '../../bytes/text.js'
import type { Crypto } from '../../crypto/crypto.js'
import { type HeadMembers, readHeadLine, type SealMembers } from '../../journal/head.js'
import { isHeadType } from '../../journal/vocabulary.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import type { Findings } from '../finding.js'
import type { Event, Link } from './line.js'
import type { Missing } from './missing.js'

export type Head = Pick<HeadMembers, 'upto' | 'time' | 'lines' | 'capsules'>
type Counts = Pick<HeadMembers, 'lines' | 'capsules'>
type HeadLine = Extract<Event, { readonly type: 'HEAD' | 'SEGMENT_SEALED' }>

/** Signed heads: the spelling and signature of each, what it counts, and which lines the last one covers. */
export function createHeads(
  keys: readonly PublicKeyRecord[] | undefined,
  crypto: Crypto,
  missing: Missing,
) {
  let before: Counts | null = null
  let lines = 0
  let capsules = 0
  let last: Head | null = null
  let uncovered = 0

  function compare(head: Counts, findings: Findings): void {
    before ??= { lines: head.lines - lines, capsules: head.capsules - capsules }
    const counted = { lines: before.lines + lines, capsules: before.capsules + capsules }
    for (const name of ['lines', 'capsules'] as const) {
      const [said, found] = [head[name], counted[name]]
      if (said !== found || before[name] < 0)
        findings.fault('head_count_mismatch', `it counts ${said} ${name}, here are ${found}`)
    }
  }

  return {
    /** What was counted before the first line given; without it the first head's counts are taken. */
    from(counts: Counts): void {
      before = counts
    },
    count({ v, type }: Link): void {
      uncovered++
      if (v !== 2 || isHeadType(type)) return
      lines++
      if (type === 'CAPSULE') capsules++
    },
    check({ origin }: Link, event: HeadLine, raw: Uint8Array, findings: Findings): void {
      const read = readHeadLine(fromUtf8(raw) ?? '', origin, keys ?? [], crypto)
      if (!read.ok && read.code !== 'head_key_unknown') {
        findings.fault(read.code, read.why)
        return
      }
      // Spelled as its members say, whether or not there is a key to check who signed them.
      const said = event as SealMembers | HeadMembers
      const failed = findings.failed
      compare(said, findings)
      if (read.ok) {
        if (findings.failed && !failed) return
        const { upto, time, lines, capsules } = read.head
        last = { upto, time, lines, capsules }
        uncovered = 0
      } else if (keys !== undefined) {
        findings.warn('head_key_unknown', `kid ${event.kid}`)
        missing.addKey(event.kid)
      }
    },
    /** The last head whose signature holds. */
    last: (): Head | null => last,
    /** How many lines stand behind it. */
    uncovered: (): number => uncovered,
  }
}
