import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { existsSync, readFileSync } from '../../adapters/disk/files.js'
import type { Crypto } from '../../core/crypto/crypto.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import { verifySign1 } from '../../verify.js'
import { type Case, list } from './conformance.js'

/** COSE_Sign1 vectors of two other makers. Neither carries a protected kid, so the key is pinned. */
export const coseCases = (root: string, crypto: Crypto): Case[] => [
  ...scittCases(join(root, 'cose', 'scitt-cose-v1'), crypto),
  ...['sign1-tests', 'eddsa-examples', 'ecdsa-examples'].flatMap((set) =>
    workingGroupCases(join(root, 'cose', 'cose-wg-examples', set), set, crypto),
  ),
]

function scittCases(folder: string, crypto: Crypto): Case[] {
  return list(folder)
    .filter((name) => existsSync(join(folder, name, 'statement.cose')))
    .map((name) => {
      const read = (file: string): Buffer => readFileSync(join(folder, name, file))
      const { statement_signature_valid: valid } = JSON.parse(String(read('expected.json')))
      const pinned = pin(createPublicKey(String(read('issuer-key.pub'))))
      const ok =
        pinned !== null && verifySign1(read('statement.cose'), { keys: [], crypto, pinned }).ok
      const suite = 'cose/scitt-cose-v1'
      return { suite, name, expected: word(valid), actual: word(ok), note: null }
    })
}

type WorkingGroupVector = {
  readonly fail?: boolean
  readonly input: {
    readonly sign0?: {
      readonly key: JsonWebKey & { readonly x_hex?: string }
      readonly protected?: { readonly alg?: string }
      readonly external?: string
    }
  }
  readonly output: { readonly cbor: string }
}

function workingGroupCases(folder: string, set: string, crypto: Crypto): Case[] {
  return list(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const vector = JSON.parse(readFileSync(join(folder, file), 'utf8')) as WorkingGroupVector
      const refusal = policy(vector)
      const key = vector.input.sign0?.key
      const pinned = (key && pin(fromVector(key))) ?? ANY_KEY
      const cose = Buffer.from(vector.output.cbor, 'hex')
      const { ok } = verifySign1(cose, { keys: [], crypto, pinned })
      return {
        suite: `cose/cose-wg-examples/${set}`,
        name: file.replace(/\.json$/, ''),
        expected: word(vector.fail !== true && refusal === null),
        actual: word(ok),
        note: vector.fail === true ? null : refusal,
      }
    })
}

/** What a statement may not be, although COSE allows it; read from the recipe, not from the bytes. */
function policy({ input, output }: WorkingGroupVector): string | null {
  const { sign0 } = input
  if (sign0 === undefined) return 'policy: COSE_Sign1 only'
  if (!output.cbor.toLowerCase().startsWith('d2')) return 'policy: untagged refused'
  const alg = sign0.protected?.alg
  if (alg === undefined) return 'policy: alg must be protected'
  if (sign0.external !== undefined) return 'policy: external data is always empty'
  const supported =
    (alg === 'EdDSA' && sign0.key.crv === 'Ed25519') ||
    (alg === 'ES256' && sign0.key.crv === 'P-256')
  return supported ? null : `policy: ${alg} with ${sign0.key.crv} not supported`
}

/** For a message that has no key we could use: it must be refused before any key matters. */
const ANY_KEY: PublicKeyRecord = {
  kid: '00',
  alg: -8,
  public_key: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  purpose: 'statement',
  status: 'active',
}

function fromVector(key: JsonWebKey & { readonly x_hex?: string }): KeyObject {
  const { kty, crv, x, y, x_hex } = key
  const own = x_hex === undefined ? x : Buffer.from(x_hex, 'hex').toString('base64url')
  const jwk = { kty, crv, x: own, ...(y !== undefined && { y }) } as JsonWebKey
  return createPublicKey({ key: jwk, format: 'jwk' })
}

/** Null for a curve the verifier has no algorithm for. */
function pin(key: KeyObject): PublicKeyRecord | null {
  const spki = key.export({ format: 'der', type: 'spki' })
  const record = { kid: '00', purpose: 'statement', status: 'active' } as const
  if (key.asymmetricKeyType === 'ed25519') {
    return { ...record, alg: -8, public_key: spki.subarray(12).toString('hex') }
  }
  const p256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return p256 ? { ...record, alg: -7, public_key: spki.subarray(26).toString('hex') } : null
}

const word = (accepted: boolean): string => (accepted ? 'accepted' : 'refused')
