import type { Capsule } from '../capsule/model.js'
import { canonicalOf } from '../json/build.js'
import { utf8 } from '../text.js'
import { type CborMap, MAX_BYTES } from './cbor.js'
import { encodeHeader, type StatementType, subjectUrn } from './header.js'
import { encodeSign1, sigStructure } from './sign1.js'

/** EdDSA: the one algorithm every other stack takes, although RFC 9864 prefers −19. */
const ALG = -8
/** Head bytes around the payload, with room to spare. */
const ENVELOPE_BYTES = 4096

export type SealOptions = {
  readonly statement: StatementType
  readonly kid: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
  /** An outcome keeps the original action's subject (seed §3.3). */
  readonly sub?: string
}
export type Sealed = {
  /** JCS of the whole capsule, chain included: the signed bytes are the canonical bytes. */
  readonly payload: string
  readonly protectedBytes: Uint8Array
  readonly signature: Uint8Array
}

export function sealStatement(capsule: Capsule, options: SealOptions): Sealed {
  const payload = canonicalOf(capsule)
  const payloadBytes = utf8(payload)
  if (payloadBytes.length > MAX_BYTES - ENVELOPE_BYTES) {
    throw new RangeError(`a capsule of ${payloadBytes.length} bytes would not verify`)
  }
  const protectedBytes = encodeHeader({
    alg: ALG,
    kid: options.kid,
    statement: options.statement,
    iss: capsule.developer,
    sub: options.sub ?? subjectUrn(capsule.operator, capsule.action_id),
    actionType: capsule.action_type,
    // A call that starts a decision is its own decision (DESIGN §5).
    decisionId: capsule['dev.capsulegate.decision_id'] ?? capsule.action_id,
  })
  const signature = options.sign(sigStructure(protectedBytes, payloadBytes))
  return { payload, protectedBytes, signature }
}

const NOTHING_UNPROTECTED: CborMap = new Map()

/** 18([protected, {}, payload, signature]), bit-exact from a journal line (DESIGN §5). */
export const toCose = (
  payload: Uint8Array,
  protectedBytes: Uint8Array,
  signature: Uint8Array,
): Uint8Array<ArrayBuffer> =>
  encodeSign1({ protectedBytes, unprotected: NOTHING_UNPROTECTED, payload, signature })
