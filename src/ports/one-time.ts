/** Octets under a key that encrypts nothing else: who destroys the key destroys the octets. */
export type OneTimeEncryption = {
  /** `context`: in no other one is it decrypted. The text is base64url. */
  encrypt(octets: Uint8Array, context: string): { readonly key: Uint8Array; readonly text: string }
  /** Null for what this key did not encrypt for this context. */
  decrypt(text: string, key: Uint8Array, context: string): Uint8Array | null
}
