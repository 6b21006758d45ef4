import type { OctetsDigest } from '../core/http/response-body.js'
import type { Plain } from '../core/json/value.js'

/**
 * What the gate does with the tenant's secret; it never sees the secret itself. Each function MUST have a key
 * of its own, derived from it (core/tenant-uses.ts), so that no value one of them gives away helps to guess
 * what another hid (seed §13). Digests are HMAC-SHA-256, lowercase hex.
 */
export type TenantKeys = {
  /** A decider or operator as a line may name them: the same name has the same pseudonym. */
  voter(name: string): string
  /** Whether a line's pseudonym is this name's, in the form of now or of an older journal. */
  isVoter(pseudonym: string, name: string): boolean
  /** Whose evidence was erased, as a line may say it. */
  subjectTag(subject: string): string
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
  readonly amounts: Sealing
  readonly bounds: Sealing
  readonly snapshot: Sealing
  readonly older: OlderForms
}
/** Texts encrypted for one place: a sealed text MUST NOT open at any other. White space at the end is not kept. */
export type Sealing = {
  seal(text: string, place: string): string
  /** Null for what this key did not seal for this place. */
  open(sealed: string, place: string): string | null
}
/** What an older gate wrote, to be compared with and never to be written again. */
export type OlderForms = {
  voter(name: string): string
  callIdentity(call: string): string
  requestOctets(octets: Uint8Array): string
  requestDigest(request: { readonly [name: string]: Plain }): string
}
