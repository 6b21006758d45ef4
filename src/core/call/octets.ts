import type { Octets } from '../capsule/model.js'
import type { Crypto } from '../crypto.js'
import { bytesDigest } from '../json/build.js'
import { utf8 } from '../text.js'
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

/** The octets as the record tells them: digest and length, under the type they came with. */
export function tellOctets(
  call: ReadCall,
  salt: string,
  crypto: Pick<Crypto, 'sha256' | 'sha256Hex'>,
): Octets {
  const bytes = octetsOf(call)
  const type = typeOf(call)
  const { length } = bytes
  const digest = bytesDigest(salt === '' ? bytes : concat(utf8(`${salt}\n`), bytes), crypto)
  return type === undefined
    ? { alg: 'sha-256', digest, length }
    : { alg: 'sha-256', content_type: type, digest, length }
}

function typeOf(call: ReadCall): string | undefined {
  switch (call.kind) {
    case 'http':
      return call.headers.find(([name]) => name === 'content-type')?.[1]
    case 'function':
      return 'application/json'
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length)
  out.set(a)
  out.set(b, a.length)
  return out
}
