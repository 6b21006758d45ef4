import { GateError } from '../error.js'
import * as s from '../json/shape.js'
import type { LineVersion } from './line.js'
import { APPROVAL_LINES } from './lines/approval.js'
import { CALL_LINES } from './lines/call.js'
import { INTENT_LINES } from './lines/intent.js'
import { SIGNATURE } from './lines/line-type.js'
import { MCP_LINES } from './lines/mcp.js'
import { OPERATE_LINES } from './lines/operate.js'

/**
 * Every type of line the journal knows, with its members (DESIGN §5). Writers, folds, recovery, readers and
 * the verifier all take a line's members from here; docs/journal.md is made from it.
 */
export const LINES = {
  ...CALL_LINES,
  ...APPROVAL_LINES,
  ...OPERATE_LINES,
  ...MCP_LINES,
  ...INTENT_LINES,
} as const

export type LineType = keyof typeof LINES
export type SignedType = {
  [T in LineType]: (typeof LINES)[T]['signed'] extends true ? T : never
}[LineType]
/** A capsule is signed too, as a statement (`write-capsule` makes its line). */
export type PlainType = Exclude<LineType, SignedType | 'CAPSULE'>

/** The members of a line of that type, without envelope and event signature. */
export type MembersOf<T extends LineType> = s.Of<(typeof LINES)[T]['members']>
type SignatureOf<T extends LineType> = T extends SignedType ? s.ObjectOf<typeof SIGNATURE> : unknown

export type Envelope = {
  readonly v: LineVersion
  readonly origin: string
  readonly seq: number
  /** RFC 6962 leaf hash of the previous line, hex. */
  readonly prev: string
  /** RFC 3339 UTC with milliseconds; never goes back within an origin. */
  readonly at: string
}
/** A line as it stands in the file: nothing is known of its members yet. */
export type JournalLine = Envelope & {
  readonly type: string
  readonly [member: string]: unknown
}
export type LineOf<T extends LineType> = T extends LineType
  ? Envelope & { readonly type: T } & MembersOf<T> & SignatureOf<T>
  : never
/** A line whose members are what its type says. */
export type Line = LineOf<LineType>

/** A line of a known type that does not hold what its type must. */
export const lineError = (
  { seq, type }: Pick<JournalLine, 'seq' | 'type'>,
  fault: string,
): GateError => new GateError('damaged', `journal line ${seq} (${type}): ${fault}`)

export const isLineType = (type: string): type is LineType => Object.hasOwn(LINES, type)
export const isSignedType = (type: string): type is SignedType =>
  isLineType(type) && LINES[type].signed

/** The journal's own lines: they end batches, and reach no fold, no webhook and no event stream. */
export const isHeadType = (type: string): type is 'HEAD' | 'SEGMENT_SEALED' =>
  type === 'HEAD' || type === 'SEGMENT_SEALED'

const signature = s.record(SIGNATURE)

/** What is wrong with the members of a line of a known type; null where nothing is. */
export function membersFault(type: LineType, members: unknown): string | null {
  const fault = s.faultOf(LINES[type].members, members)
  return fault ?? (LINES[type].signed ? s.faultOf(signature, members) : null)
}

/**
 * The line with what its type promises, the same object: members of a later version stay. Null for a type
 * that only a later version knows; throws `damaged` for one that is not its shape, because a line that
 * cannot be obeyed must not be passed over.
 */
export function readLine(line: JournalLine): Line | null {
  const { type } = line
  if (!isLineType(type)) return null
  const fault = membersFault(type, line)
  if (fault !== null) throw lineError(line, fault)
  return line as LineOf<typeof type>
}

const envelope: s.Shape<Envelope> = s.record({
  v: s.opaque<LineVersion>('1 or 2', (value) => value === 1 || value === 2),
  origin: s.text,
  seq: s.count,
  prev: s.digest,
  at: s.time,
})

/** A whole line of one type, where one is kept inside another record. */
export const lineShape = <T extends LineType>(type: T): s.Shape<LineOf<T>> => ({
  says: `a whole ${type} line`,
  fault(value) {
    const inside = envelope.fault(value) ?? LINES[type].members.fault(value)
    return inside ?? (LINES[type].signed ? signature.fault(value) : null)
  },
})
