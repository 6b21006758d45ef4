import { createHash, createHmac } from 'node:crypto'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { jsonDigest } from '../../core/json/build.js'
import type { OlderForms } from '../../ports/tenant.js'

/**
 * The forms of before one key per use, when the secret itself was the key or stood in the digested object.
 * Journals hold them: votes, standing refusals, open items and idempotency keys are compared under them, and
 * nothing is written in them any more.
 */
export function olderForms(secret: string): OlderForms {
  const hmac = (text: string): string => createHmac('sha256', secret).update(text).digest('hex')
  return {
    voter: hmac,
    callIdentity: hmac,
    requestOctets: (octets) =>
      createHash('sha256').update(`${secret}\n`).update(octets).digest('hex'),
    requestDigest: (request) => jsonDigest({ ...request, salt: secret }, nodeCrypto),
  }
}
