import { MAX_BYTES } from '../bytes/cbor.js'
import { utf8 } from '../bytes/text.js'
import { payloadOf } from '../capsule/build.js'
import type { Capsule } from '../capsule/model.js'
import { encodeHeader, type HeaderInput, type StatementType, subjectUrn } from './header.js'
import { sigStructure } from './sign1.js'

/** EdDSA: the one algorithm every other stack takes, although RFC 9864 prefers −19. */
const ALG = -8
/** Head bytes around the payload, with room to spare. */
const ENVELOPE_BYTES = 4096

/** A capsule ready to be signed: nothing in it is left to decide but the key. */
export type StatementToSign = Omit<HeaderInput, 'alg' | 'kid'> & {
  /** JCS of the whole capsule, chain included: the signed bytes are the canonical bytes. */
  readonly payload: string
}
export type SigningKey = {
  readonly kid: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}
export type SignedStatement = {
  readonly protectedBytes: Uint8Array
  readonly signature: Uint8Array
}

/** An outcome keeps the original action's subject (seed §3.3). */
export const toSign = (
  capsule: Capsule,
  statement: StatementType,
  sub = subjectUrn(capsule.operator, capsule.action_id),
): StatementToSign => ({
  payload: payloadOf(capsule),
  statement,
  iss: capsule.developer,
  sub,
  actionType: capsule.action_type,
  // A call that starts a decision is its own decision (DESIGN §5).
  decisionId: capsule['dev.capsulegate.decision_id'] ?? capsule.action_id,
})

export function signStatement(order: StatementToSign, { kid, sign }: SigningKey): SignedStatement {
  const payload = utf8(order.payload)
  if (payload.length > MAX_BYTES - ENVELOPE_BYTES) {
    throw new RangeError(`a capsule of ${payload.length} bytes would not verify`)
  }
  const protectedBytes = encodeHeader({ alg: ALG, kid, ...order })
  return { protectedBytes, signature: sign(sigStructure(protectedBytes, payload)) }
}
