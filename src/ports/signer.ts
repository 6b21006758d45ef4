export type SigningPurpose = 'statement' | 'event' | 'webhook'
export type Signer = {
  /** Raw 32-byte kid of the current key of that purpose (RFC 9679 thumbprint). */
  kid(purpose: SigningPurpose): Uint8Array
  /** Ed25519. MUST refuse a retired key. */
  sign(purpose: SigningPurpose, message: Uint8Array): Uint8Array
}
