import type { OctetsDigest } from '../core/http/response-body.js'
import type { Plain } from '../core/json/value.js'

/**
 * What the gate does with the tenant's secret, which it never gets itself. Each function MUST have a key of its
 * own, derived from the secret (core/tenant-uses.ts), so that a value of one does not help to guess the input
 * of another (seed §13). Digests are HMAC-SHA-256, lowercase hex.
 */
export type TenantKeys = {
  /** A decider or operator as a line may name them: the same name has the same pseudonym. */
  voter(name: string): string
  /** Whether a line's pseudonym is this name's, in the form of now or of an older journal. */
  isVoter(pseudonym: string, name: string): boolean
  /** The subject whose evidence was erased, as a line may name it. */
  subjectTag(subject: string): string
  /** The human principal of a mandate, as a line may name them. */
  principal(name: string): string
  /** Of a reason's JCS: equal reasons have equal salts (seed agent-action-capsule-01 §5.4). */
  reasonSalt(reason: string): string
  callIdentity(call: string): string
  sourceHash(address: string): string
  passThroughSalt(request: string): string
  /** For tools with `digest_salt: tenant`. */
  requestOctets(octets: Uint8Array): string
  requestSalt(request: string): string
  responseOctets(): OctetsDigest
  /** Of a scope's plain digest, as lines and the state name it. */
  budgetScope(scope: string): string
  readonly amounts: Encryption
  readonly bounds: Encryption
  readonly snapshot: Encryption
  readonly older: OlderForms
}
/** Texts encrypted for one context: a text MUST NOT be decrypted in any other. White space at the end is not kept. */
export type Encryption = {
  encrypt(text: string, context: string): string
  /** Null for what this key did not encrypt for this context. */
  decrypt(encrypted: string, context: string): string | null
}
/** What an older gate wrote, to be compared with and never to be written again. */
export type OlderForms = {
  voter(name: string): string
  callIdentity(call: string): string
  requestOctets(octets: Uint8Array): string
  requestDigest(request: { readonly [name: string]: Plain }): string
}
