import { fromBase64url } from '../../bytes/base64url.js'
import { isHex64 } from '../../bytes/hex.js'
import { fromUtf8, utf8 } from '../../bytes/text.js'
import type { LineVersion } from '../../journal/line.js'
import {
  type Envelope,
  isLineType,
  type JournalLine,
  LINES,
  type LineOf,
} from '../../journal/vocabulary.js'
import { canonical, numberFaults } from '../../json/canonical.js'
import { faultOf } from '../../json/shape.js'
import {
  isObject,
  isSafeIntegerToken,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  toPlain,
} from '../../json/value.js'
import { toCose } from '../../statement/sign1.js'
import type { Findings } from '../finding.js'
import { block } from '../structure.js'

/** One line of a gate's journal as the checks get it (DESIGN §5). */

export const isJournalLine = (value: JsonObject): boolean =>
  ['v', 'origin', 'seq', 'prev', 'type'].every((name) => value.has(name))

/** The envelope of a line, and its own leaf hash, which the next line's `prev` repeats. */
export type Link = Envelope & { readonly type: string; readonly hash: string }

export function integer(line: JsonObject, name: string): number | null {
  const value = line.get(name)
  return value instanceof JsonNumber && isSafeIntegerToken(value.token) ? Number(value.token) : null
}

/** A copy of its own: a parsed text is a slice that would keep its whole line alive. */
export const detached = (text: string): string => fromUtf8(utf8(text)) ?? ''

/** Any line but a capsule's, whose members are Class 1's matter. */
export type Event = { [T in keyof typeof LINES]: LineOf<T> }[Exclude<keyof typeof LINES, 'CAPSULE'>]

/**
 * A line of a known type that holds what its type says (core/journal/vocabulary.ts); its signature is another
 * check's. Null with a finding where it does not.
 */
export function readEvent(line: JsonObject, findings: Findings): Event | null {
  const plain = toPlain(line) as JournalLine
  const { type } = plain
  if (!isLineType(type) || type === 'CAPSULE') return null
  const fault = faultOf(LINES[type].members, plain) ?? (LINES[type].signed ? inexact(line) : null)
  if (fault === null) return plain as LineOf<typeof type>
  findings.fault('journal_line_malformed', `${type}: ${fault}`)
  return null
}

/** A signature is over canonical JSON, in which `1.0` and `1` would be one: only the second is ever written. */
function inexact(line: JsonObject): string | null {
  const [fault] = numberFaults(line)
  return fault === undefined ? null : `${fault.path} has no canonical form`
}

/** What the checks across lines need of a capsule. */
export type Concluded = {
  readonly seq: number
  readonly v: LineVersion
  readonly id: string | null
  readonly actionId: string | null
  readonly verdict: string | null
  readonly human: boolean
  /** What was stopped goes on, and nothing is executed by that. */
  readonly resumed: boolean
  /** It says that at least one byte left. */
  readonly effect: boolean
  readonly requestDigest: string | null
  /** It names the declaration that its call brought. */
  readonly declared: boolean
  /** A statement about an earlier action, or a request on a route that the gate does not govern. */
  readonly beside: boolean
  readonly recovered: boolean
  readonly supersedes: string | null
}

export function readConcluded(line: JsonObject, { seq, v }: Link): Concluded | null {
  const capsule = line.get('capsule')
  if (!isObject(capsule)) return null
  const effect = block(capsule, 'effect')
  const disposition = block(capsule, 'disposition')
  const chain = block(capsule, 'chain')
  const parent = chain?.get('parent_capsule_id')
  return {
    seq,
    v,
    id: text(capsule.get('capsule_id')),
    actionId: text(capsule.get('action_id')),
    verdict: text(disposition?.get('verdict_class')),
    human: disposition?.get('human_disposed') === true,
    resumed:
      disposition?.get('decision') === 'accept' && disposition.get('verdict_class') === 'resolved',
    effect: effect !== null && effect.size > 0,
    requestDigest: text(effect?.get('request_digest')),
    declared: capsule.has('dev.capsulegate.intent_ref'),
    beside: line.get('statement') === 'outcome' || capsule.get('action_type') === 'fyi',
    recovered: capsule.has('dev.capsulegate.recovered'),
    supersedes: chain?.get('relation') === 'supersedes' && isHex64(parent) ? parent : null,
  }
}

const text = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' ? value : null

/** The statement a CAPSULE line stands for, bit-exact: 18([protected, {}, JCS(capsule), signature]). */
export function coseOf(line: JsonObject): Uint8Array | null {
  const capsule = line.get('capsule')
  const payload = isObject(capsule) ? canonical(capsule) : null
  const [protectedBytes, signature] = ['protected', 'signature'].map((name) => {
    const value = line.get(name)
    return typeof value === 'string' ? fromBase64url(value) : null
  })
  if (payload === null || !protectedBytes || !signature) return null
  return toCose(utf8(payload), protectedBytes, signature)
}
