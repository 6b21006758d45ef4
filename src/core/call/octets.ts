import type { Octets } from '../capsule/model.js'
import type { Hashing } from '../crypto/crypto.js'
import { bytesDigest } from '../json/build.js'
import type { ReadCall } from './call.js'

/** The request's own octets; a function's are its arguments. */
export function octetsOf(call: ReadCall): Uint8Array {
  switch (call.kind) {
    case 'http':
      return call.body.bytes
    case 'function':
      return call.argumentsJson
  }
}

/** The octets as the record tells them: digest (keyed where `hmac` is given) and length, under the type they came with. */
export function tellOctets(
  call: ReadCall,
  hmac: ((octets: Uint8Array) => string) | null,
  crypto: Hashing,
): Octets {
  const bytes = octetsOf(call)
  const type = typeOf(call)
  const { length } = bytes
  const alg = hmac === null ? 'sha-256' : 'hmac-sha-256'
  const digest = hmac === null ? bytesDigest(bytes, crypto) : hmac(bytes)
  return type === undefined ? { alg, digest, length } : { alg, content_type: type, digest, length }
}

function typeOf(call: ReadCall): string | undefined {
  switch (call.kind) {
    case 'http':
      return call.headers.find(([name]) => name === 'content-type')?.[1]
    case 'function':
      return 'application/json'
  }
}
