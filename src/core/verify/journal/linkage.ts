import { isHex64 } from '../../bytes/hex.js'
import type { Hashing } from '../../crypto/crypto.js'
import { FIRST_PREV, isAt, type LineVersion, leafHash } from '../../journal/line.js'
import type { JsonObject } from '../../json/value.js'
import { type Findings, show } from '../finding.js'
import { integer, type Link } from './line.js'

/** What stands before the first line, where that is known: the last line of an archived segment. */
export type Before = Pick<Link, 'seq' | 'hash' | 'at' | 'v'>

/** The chain that makes a missing or moved line visible: number, hash, origin, time and version (DESIGN §5). */
export function createLinkage(
  crypto: Hashing,
  /** Asked once, with the first line. */
  begin: (first: Link, findings: Findings) => Before | null,
) {
  let last: Link | null = null

  function compare(here: Link, findings: Findings): void {
    const earlier = last ?? begin(here, findings)
    if (earlier === null) {
      checkFirst(here, findings)
      return
    }
    const { seq, prev, at, origin } = here
    if (last !== null && origin !== last.origin)
      findings.fault('journal_origin_changed', `${show(origin)} after ${last.origin}`)
    if (seq !== earlier.seq + 1) findings.fault('journal_seq_broken', `${seq} after ${earlier.seq}`)
    if (prev !== earlier.hash)
      findings.fault('journal_prev_mismatch', `seq ${seq}: the line before is another`)
    if (at < earlier.at) findings.fault('journal_time_went_back', `seq ${seq}`)
    checkVersion(here, earlier.v, findings)
  }

  return {
    last: (): Link | null => last,
    /** Null where the envelope cannot be read. */
    add(line: JsonObject, raw: Uint8Array, findings: Findings): Link | null {
      const [origin, prev, at, type] = ['origin', 'prev', 'at', 'type'].map((name) =>
        line.get(name),
      )
      const seq = integer(line, 'seq')
      const v = versionOf(line, findings)
      if (
        typeof origin !== 'string' ||
        typeof type !== 'string' ||
        seq === null ||
        !isHex64(prev) ||
        !isTime(at)
      ) {
        findings.fault('journal_envelope_malformed', `seq ${show(line.get('seq'))}`)
        return null
      }
      const here = { v, origin, seq, prev, at, type, hash: leafHash(raw, crypto) }
      compare(here, findings)
      // The texts of this line are slices of it; one line is kept alive at a time.
      last = here
      return here
    },
  }
}

function checkFirst({ seq, prev, type }: Link, findings: Findings): void {
  // A first line is number 0 or 1; any other number says that lines were cut off before it.
  if ((prev === FIRST_PREV) !== seq <= 1) findings.fault('journal_start_forged', `seq ${seq}`)
  if (prev === FIRST_PREV && type === 'ADOPTED')
    findings.fault('journal_adoption_misplaced', 'there is nothing before it to adopt')
}

/** Version 1 goes on as version 2 behind an ADOPTED line only, and there is no way down. */
function checkVersion({ v, seq, type }: Link, earlier: LineVersion, findings: Findings): void {
  if (v < earlier) findings.fault('journal_version', `seq ${seq}: version ${v} after ${earlier}`)
  else if (v > earlier && type !== 'ADOPTED')
    findings.fault('journal_version', `seq ${seq}: version ${v} without an ADOPTED line`)
  if (type === 'ADOPTED' && (v !== 2 || earlier !== 1))
    findings.fault('journal_adoption_misplaced', `seq ${seq} adopts nothing of version 1`)
}

function versionOf(line: JsonObject, findings: Findings): LineVersion {
  const v = integer(line, 'v')
  if (v === 1 || v === 2) return v
  findings.fault('journal_version', `v is ${show(line.get('v'))}`)
  return 2
}

const isTime = (value: unknown): value is string => typeof value === 'string' && isAt(value)
