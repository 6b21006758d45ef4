import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { type Capsule, FORMAT_VERSION, SPEC_VERSION } from '../../../src/core/capsule/model.js'
import { jsonDigest } from '../../../src/core/json/build.js'
import type { KeyPurpose, PublicKeyRecord } from '../../../src/core/statement/keys.js'
import { thumbprint } from '../../../src/core/statement/keys.js'
import { toCose } from '../../../src/core/statement/sign1.js'
import { signCapsule } from './sign-capsule.js'

export type TestKey = {
  readonly record: PublicKeyRecord
  readonly kid: Uint8Array
  readonly privateKey: KeyObject
  readonly sign: (message: Uint8Array) => Uint8Array
}

export function testKey(purpose: KeyPurpose = 'statement'): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(12))
  const kid = thumbprint('ed25519', raw, nodeCrypto)
  return {
    record: {
      kid: Buffer.from(kid).toString('hex'),
      alg: -8,
      public_key: Buffer.from(raw).toString('hex'),
      purpose,
      status: 'active',
    },
    kid,
    privateKey,
    sign: (message) => sign(null, message, privateKey),
  }
}

export function sampleCapsule(changes: Partial<Capsule> = {}): Capsule {
  const {
    capsule_id: _,
    chain,
    ...body
  } = {
    spec_version: SPEC_VERSION,
    format_version: FORMAT_VERSION,
    capsule_id: '',
    action_id: '01890a5d-ac96-774b-bcce-b302099a8057',
    action_type: 'decide',
    operator: 'acme',
    developer: 'support-bot',
    timestamp: '2026-10-01T12:00:00.000Z',
    assurance: {
      attestation_mode: 'self_attested',
      effect_mode: 'not_applicable',
      ledger_mode: 'standalone',
    },
    disposition: {
      decision: 'reject',
      approver: 'policy',
      human_disposed: false,
      verdict_class: 'denied',
    },
    ...changes,
  } satisfies Capsule
  const capsule_id = jsonDigest(body, nodeCrypto)
  return { ...body, capsule_id, ...(chain !== undefined && { chain }) }
}

export function sampleCose(key: TestKey, capsule: Capsule = sampleCapsule()): Uint8Array {
  const sealed = signCapsule(capsule, { statement: 'agent_action', kid: key.kid, sign: key.sign })
  return toCose(new TextEncoder().encode(sealed.payload), sealed.protectedBytes, sealed.signature)
}
