/**
 * Lines that change what the gate allows, remembers or tells are signed: a hash link can be computed by
 * anyone who can write to the file. This is the one list of them. Writers can sign no other type and
 * cannot append one of these unsigned; the start refuses a journal where one is not signed by this gate.
 */
export const SIGNED_TYPES = [
  'APPROVAL_OPENED',
  'APPROVAL_REMINDER',
  'APPROVAL_VOTED',
  'CONFIG_CHANGED',
  'DECISION_LOST',
  'EVIDENCE_ERASED',
  'EVIDENCE_ERASING',
  'GRANT_ISSUED',
  'GRANT_REVOKED',
  'HALT',
  'REFUSAL_LIFTED',
  'RESUME',
  'SEGMENT_SEALED',
  'WEBHOOK_DEAD',
  'WEBHOOK_DISABLED',
  'WEBHOOK_ENABLED',
] as const
export type SignedType = (typeof SIGNED_TYPES)[number]

const ALL: ReadonlySet<string> = new Set(SIGNED_TYPES)
export const isSignedType = (type: string): type is SignedType => ALL.has(type)
