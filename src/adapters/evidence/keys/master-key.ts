import { createHmac } from 'node:crypto'
import { GateError } from '../../../core/error.js'

/** What the master key is used for; it encrypts nothing by itself. */
export type MasterKey = {
  /** Wraps data keys. */
  readonly wrap: Buffer
  /** What a scope's name is replaced by on disk. */
  tag(scope: string): Buffer
  /** Identifies the master key a store belongs to without disclosing it. */
  readonly check: Buffer
}

const BYTES = 32

export function deriveMasterKey(secret: Uint8Array): MasterKey {
  if (secret.length !== BYTES) {
    throw new GateError('master_key', `the master key has ${secret.length} bytes, not ${BYTES}`)
  }
  const derive = (purpose: string): Buffer =>
    createHmac('sha256', secret).update(`capsule-gate/evidence/${purpose}/v1`).digest()
  const tagKey = derive('scope')
  return {
    wrap: derive('wrap'),
    tag: (scope) => createHmac('sha256', tagKey).update(scope).digest(),
    check: derive('check').subarray(0, 16),
  }
}
