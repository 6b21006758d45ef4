import { generateKeyPairSync, sign } from 'node:crypto'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { base64url } from '../../../src/core/bytes/base64url.js'
import { hex } from '../../../src/core/bytes/hex.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { FIRST_PREV, formatLine, leafHash } from '../../../src/core/journal/line.js'
import { subjectUrn } from '../../../src/core/statement/header.js'
import { type PublicKeyRecord, thumbprint } from '../../../src/core/statement/keys.js'
import { toCose } from '../../../src/core/statement/sign1.js'
import { signCapsule } from '../statement/sign-capsule.js'

/** A producer's key, its statements and its journal, written with the product's own writers. */
const pair = generateKeyPairSync('ed25519')
const publicKey = Uint8Array.from(
  pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
)
const kid = thumbprint('ed25519', publicKey, nodeCrypto)

export const key: PublicKeyRecord = {
  kid: hex(kid),
  alg: -8,
  public_key: hex(publicKey),
  purpose: 'statement',
  status: 'active',
}
export const signRaw = (message: Uint8Array): Uint8Array =>
  Uint8Array.from(sign(null, message, pair.privateKey))

export function seal(capsule: Capsule, original?: Capsule): ReturnType<typeof signCapsule> {
  return signCapsule(capsule, {
    statement: original === undefined ? 'agent_action' : 'outcome',
    kid,
    sign: signRaw,
    ...(original === undefined ? {} : { sub: subjectUrn(original.operator, original.action_id) }),
  })
}
export function cose(capsule: Capsule, original?: Capsule): Uint8Array {
  const { payload, protectedBytes, signature } = seal(capsule, original)
  return toCose(new TextEncoder().encode(payload), protectedBytes, signature)
}

export type Entry = { type: string; json: string }
export function capsuleEntry(capsule: Capsule, original?: Capsule): Entry {
  const { payload, protectedBytes, signature } = seal(capsule, original)
  const statement = original === undefined ? 'agent_action' : 'outcome'
  const rest = `"protected":"${base64url(protectedBytes)}","signature":"${base64url(signature)}"`
  return { type: 'CAPSULE', json: `{"statement":"${statement}","capsule":${payload},${rest}}` }
}

export function journal(entries: readonly Entry[], origin = 'gate-1'): string[] {
  let prev = FIRST_PREV
  return entries.map(({ type, json }, index) => {
    const at = `2026-06-13T00:00:00.${String(index % 1000).padStart(3, '0')}Z`
    const line = formatLine({ origin, seq: index + 1, prev, at, type }, json)
    prev = leafHash(new TextEncoder().encode(line), nodeCrypto)
    return line
  })
}
