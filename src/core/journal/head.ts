import type { Crypto } from '../crypto/crypto.js'
import { faultOf } from '../json/shape.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { signEvent, verifyEvent } from './event.js'
import { formatLine } from './line.js'
import { lineShape, type MembersOf } from './vocabulary.js'

/**
 * Signed heads (DESIGN §5): the line that ends a batch, or the seal that ends a segment. Its signature
 * covers every line before it by the hash chain, so no line counts that no head covers.
 */
export type HeadMembers = MembersOf<'HEAD'>
export type SealMembers = Exclude<MembersOf<'SEGMENT_SEALED'>, { readonly head: string }>
/** A head with all that is needed to check it away from its journal. */
export type SignedHead = HeadMembers & {
  readonly origin: string
  readonly kid: string
  readonly sig: string
}
export type HeadSigner = {
  readonly origin: string
  readonly kid: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}

/** How one head line is written; the rest of the line is derived from these members. */
type Written =
  | { readonly type: 'HEAD'; readonly members: HeadMembers }
  | { readonly type: 'SEGMENT_SEALED'; readonly members: SealMembers }
type Signature = { readonly kid: string; readonly sig: string }

/** Members in the one order that a head line has them in; counts by type in the order of their names. */
function ordered({ type, members }: Written): object {
  const { upto, hash, time, lines, capsules } = members
  const head = { upto, hash, time, lines, capsules }
  if (type === 'HEAD') return head
  const { segment, size, root } = members
  const names = Object.keys(members.counts).sort()
  const counts = Object.fromEntries(names.map((name) => [name, members.counts[name]]))
  return { segment, size, root, ...head, counts }
}

/** The whole line, without its LF: `seq`, `prev` and `at` follow from the signed members. */
function textOf(origin: string, written: Written, { kid, sig }: Signature): string {
  const { upto, hash, time } = written.members
  const envelope = { origin, seq: upto + 1, prev: hash, at: time, type: written.type }
  return formatLine(envelope, JSON.stringify({ ...ordered(written), kid, sig }))
}

export function signHead(members: HeadMembers, by: HeadSigner): { text: string; head: SignedHead } {
  const { kid, sig } = signEvent({ ...by, type: 'HEAD', members }).members
  const text = textOf(by.origin, { type: 'HEAD', members }, { kid, sig })
  return { text, head: { origin: by.origin, ...members, kid, sig } }
}

export function signSeal(members: SealMembers, by: HeadSigner): string {
  const { kid, sig } = signEvent({ ...by, type: 'SEGMENT_SEALED', members }).members
  return textOf(by.origin, { type: 'SEGMENT_SEALED', members }, { kid, sig })
}

export type HeadCheck =
  | { readonly ok: true; readonly kind: 'head'; readonly head: SignedHead }
  | {
      readonly ok: true
      readonly kind: 'seal'
      readonly head: SignedHead
      readonly seal: SealMembers
    }
  | { readonly ok: false; readonly code: HeadFault; readonly why: string }
export type HeadFault =
  | 'head_malformed'
  | 'head_foreign'
  | 'head_spelled_otherwise'
  | 'head_signature'
  /** Its key is not among those given: it may be a newer one of the gate, or a foreign one. */
  | 'head_key_unknown'

const bad = (code: HeadFault, why: string): HeadCheck => ({ ok: false, code, why })
const headShape = lineShape('HEAD')
const sealShape = lineShape('SEGMENT_SEALED')

/**
 * A HEAD or a seal of version 2 by its exact text: shape, the one spelling, signature. `by` is the origin it must
 * be of. What it counts is compared with the lines by the caller, which holds them.
 */
export function readHeadLine(
  text: string,
  by: string,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): HeadCheck {
  const line = looselyRead(text)
  const fault = faultOf(line.type === 'HEAD' ? headShape : sealShape, line)
  if (fault !== null) return bad('head_malformed', fault)
  const written = writtenOf(line)
  if (written === null) return bad('head_malformed', `it is no head: ${JSON.stringify(line.type)}`)
  const { origin, kid, sig } = line as SignedHead & Line
  if (origin !== by) return bad('head_foreign', `it is of origin ${origin}`)
  // Not one octet of the last line may be free: nothing behind it would notice a change.
  if (textOf(origin, written, { kid, sig }) !== text) {
    return bad('head_spelled_otherwise', 'its octets are not the ones its signed members give')
  }
  const check = verifyEvent(line, keys, crypto)
  if (!check.ok) {
    const code = check.code === 'kid_unknown' ? 'head_key_unknown' : 'head_signature'
    return bad(code, `its signature: ${check.code}`)
  }
  const { upto, hash, time, lines, capsules } = written.members
  const head = { origin, upto, hash, time, lines, capsules, kid, sig }
  return written.type === 'HEAD'
    ? { ok: true, kind: 'head', head }
    : { ok: true, kind: 'seal', head, seal: written.members }
}

/** A head as it is kept elsewhere, by its members: the line around it is derived and checked. */
export function readSignedHead(
  value: object,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): HeadCheck {
  const { origin, upto, hash, time, lines, capsules, kid, sig } = value as Partial<SignedHead>
  if (
    typeof origin !== 'string' ||
    upto === undefined ||
    hash === undefined ||
    time === undefined
  ) {
    return bad('head_malformed', 'it names no origin, upto, hash or time')
  }
  const members = { upto, hash, time, lines: lines ?? -1, capsules: capsules ?? -1 }
  const signature = { kid: kid ?? '', sig: sig ?? '' }
  return readHeadLine(textOf(origin, { type: 'HEAD', members }, signature), origin, keys, crypto)
}

type Line = { readonly [member: string]: unknown }

/** The members of a line that nothing has checked yet; none where it cannot be read. */
export function looselyRead(text: string): Line {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}

/** Null for a seal of version 1, which is no head. */
function writtenOf(line: Line): Written | null {
  if (line.type === 'HEAD') return { type: 'HEAD', members: line as HeadMembers }
  const members = line as SealMembers
  return members.upto === undefined ? null : { type: 'SEGMENT_SEALED', members }
}
