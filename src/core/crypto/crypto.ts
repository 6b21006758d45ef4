/**
 * What the core needs of cryptography, as a parameter: node:crypto on the server
 * (adapters/crypto-node.ts), noble in a browser (core/crypto/noble.ts). Both engines MUST give the
 * same answer for every input, edge cases of Ed25519 and ES256 included.
 */
export type Crypto = {
  readonly name: string
  sha256(data: Uint8Array): Uint8Array
  /** Lowercase hex of SHA-256 over bytes or a text's UTF-8, where an engine has a shorter way to it. */
  sha256Hex?(data: Uint8Array | string): string
  /** Strict: small-order and non-canonical keys, S ≥ L and torsioned points are refused. */
  verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
  /** `publicKey` is the uncompressed point (65 bytes, 0x04); the signature raw r‖s, 64 bytes. */
  verifyES256(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}

/** SHA3-256 of FIPS 202, which capsules of the Capsule Protocol are hashed with. */
export type Sha3 = { sha3_256(data: Uint8Array): Uint8Array }

/** Enough for digests. */
export type Hashing = Pick<Crypto, 'sha256' | 'sha256Hex'>
