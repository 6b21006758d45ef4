import { fromBase64url } from '../base64url.js'
import type { Crypto } from '../crypto.js'
import { isHex64 } from '../hex.js'
import { FIRST_PREV, isAt, leafHash } from '../journal/line.js'
import { isLineType, membersFault } from '../journal/vocabulary.js'
import { canonical } from '../json/canonical.js'
import {
  isObject,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  toPlain,
} from '../json/value.js'
import { encodeSign1 } from '../statement/sign1.js'
import { utf8 } from '../text.js'
import { type Findings, show } from './finding.js'

/** A gate's journal line by line (DESIGN §5): the chain that makes a missing or moved line visible. */

export const isJournalLine = (value: JsonObject): boolean =>
  ['v', 'origin', 'seq', 'prev', 'type'].every((name) => value.has(name))

export type Linkage = {
  /** False when the file begins in the middle of a journal: what came before is not here. */
  wholeFromStart(): boolean
  check(line: JsonObject, raw: Uint8Array, findings: Findings): void
}

export function linkage(crypto: Pick<Crypto, 'sha256'>): Linkage {
  let last: { seq: number; hash: string; at: string; origin: string } | null = null
  let whole = true
  return {
    wholeFromStart: () => whole,
    check(line, raw, findings) {
      const [origin, prev, at] = [line.get('origin'), line.get('prev'), line.get('at')]
      const seq = integer(line, 'seq')
      if (integer(line, 'v') !== 1)
        findings.error(null, 'journal_version', `v is ${show(line.get('v'))}`)
      if (typeof origin !== 'string' || seq === null || !isHex64(prev) || !isTime(at)) {
        findings.error(null, 'journal_envelope_malformed', `seq ${show(line.get('seq'))}`)
        return
      }
      if (last === null) {
        whole = prev === FIRST_PREV
        // A first line is number 0 or 1; any other place says that lines were cut off before it.
        if (whole !== seq <= 1) findings.error(null, 'journal_start_forged', `seq ${seq}`)
      } else {
        if (origin !== last.origin)
          findings.error(null, 'journal_origin_changed', `${show(origin)} after ${last.origin}`)
        if (seq !== last.seq + 1)
          findings.error(null, 'journal_seq_broken', `${seq} after ${last.seq}`)
        if (prev !== last.hash)
          findings.error(null, 'journal_prev_mismatch', `seq ${seq}: the line before is another`)
        if (at < last.at) findings.error(null, 'journal_time_went_back', `seq ${seq}`)
      }
      last = { seq, hash: leafHash(raw, crypto), at, origin }
    },
  }
}

const isTime = (value: unknown): value is string => typeof value === 'string' && isAt(value)

function integer(line: JsonObject, name: string): number | null {
  const value = line.get(name)
  return value instanceof JsonNumber && isSafeIntegerToken(value.token) ? Number(value.token) : null
}

/** A line of a known type holds what its type says (core/journal/vocabulary.ts); a capsule is Class 1's. */
export function checkMembers(line: JsonObject, findings: Findings): void {
  const type = line.get('type')
  if (typeof type !== 'string' || !isLineType(type)) return
  const fault = membersFault(type, toPlain(line))
  if (fault !== null) findings.error(null, 'journal_line_malformed', `${type}: ${fault}`)
}

/** The statement a CAPSULE line stands for, bit-exact: 18([protected, {}, JCS(capsule), signature]). */
export function coseOf(line: JsonObject): Uint8Array | null {
  const capsule = line.get('capsule')
  const payload = isObject(capsule) ? canonical(capsule) : null
  const [protectedBytes, signature] = ['protected', 'signature'].map((name) => {
    const value = line.get(name)
    return typeof value === 'string' ? fromBase64url(value) : null
  })
  if (payload === null || !protectedBytes || !signature) return null
  return encodeSign1({ protectedBytes, unprotected: new Map(), payload: utf8(payload), signature })
}
