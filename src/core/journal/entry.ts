import type { StatementToSign } from '../statement/sign.js'
import type { VerificationToSign } from './verification.js'
import type { Envelope, Line, LineOf, MembersOf, PlainType, SignedType } from './vocabulary.js'

/** What a writer gives the journal: the members, and the text of them that the line will have. */
export type Entry =
  | { [T in PlainType]: PlainEntry<T> }[PlainType]
  | { [T in SignedType]: SignedEntry<T> }[SignedType]
  | CapsuleEntry
  | VerifiedEntry
export type PlainEntry<T extends PlainType> = {
  readonly type: T
  readonly json: string
  readonly members: MembersOf<T>
}
export type SignedEntry<T extends SignedType> = {
  readonly type: T
  readonly json: string
  readonly members: MembersOf<T> & EventSignature
}
export type EventSignature = { readonly kid: string; readonly sig: string }

/** A capsule still to be signed: the journal signs it where it writes the line (docs/architecture.md). */
export type CapsuleEntry = {
  readonly type: 'CAPSULE'
  readonly seal: StatementToSign
  /** The members beside the capsule and its statement. */
  readonly json: string
  readonly members: Omit<MembersOf<'CAPSULE'>, keyof StatementSignature>
}
/** What signing a statement adds to its line. */
export type StatementSignature = Pick<MembersOf<'CAPSULE'>, 'protected' | 'signature'>

type Verified = MembersOf<'IDP_COMMITMENT_VERIFIED'>
/** A record of a verification still to be signed, which the journal does like a capsule. */
export type VerifiedEntry = {
  readonly type: 'IDP_COMMITMENT_VERIFIED'
  readonly verifies: VerificationToSign<Verified['record']>
  /** The members beside the record. */
  readonly json: string
  readonly members: Omit<Verified, 'record'>
}
/** What the journal adds to a line where it signs. */
export type Sealed = StatementSignature | Pick<Verified, 'record'>

/**
 * An entry of a type that nothing signs. Its members have their types, digests among them are the gate's own,
 * and no shape of these types wants more than that: so nothing is checked again, which would cost every call
 * as much as matching it does.
 */
export const plainEntry = <T extends PlainType>(type: T, members: MembersOf<T>): PlainEntry<T> => ({
  type,
  json: JSON.stringify(members),
  members,
})

/**
 * The COSE statement taken apart, bit-exact: 18([protected, {}, JCS(capsule), signature]) (DESIGN §5). The
 * capsule's builder has checked it (core/capsule/check.ts), no less strictly than its shape.
 */
export function capsuleEntry(
  seal: StatementToSign,
  { capsule, statement, ...beside }: CapsuleEntry['members'],
): CapsuleEntry {
  return {
    type: 'CAPSULE',
    seal,
    json: JSON.stringify(beside),
    members: { statement, capsule, ...beside },
  }
}

export const verifiedEntry = (
  verifies: VerifiedEntry['verifies'],
  members: VerifiedEntry['members'],
): VerifiedEntry => ({
  type: 'IDP_COMMITMENT_VERIFIED',
  verifies,
  json: JSON.stringify(members),
  members,
})

/** The line that a durable entry became, as a reader of the file would get it. */
export function lineOf(entry: Entry, envelope: Envelope, signed?: Sealed): Line {
  const { v, origin, seq, prev, at } = envelope
  // Named one by one: V8 copies a literal that begins with a spread several times slower.
  const line = { v, origin, seq, prev, at, type: entry.type, ...entry.members, ...signed }
  return line as LineOf<typeof entry.type>
}
