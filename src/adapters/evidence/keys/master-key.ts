import { createHmac } from 'node:crypto'
import { GateError } from '../../../core/error.js'

export type MasterKey = ReturnType<typeof deriveMasterKey>

const BYTES = 32

/** What the master key is used for; it encrypts nothing by itself. */
export function deriveMasterKey(secret: Uint8Array) {
  if (secret.length !== BYTES) {
    throw new GateError('master_key', `the master key has ${secret.length} bytes, not ${BYTES}`)
  }
  const derive = (purpose: string): Buffer =>
    createHmac('sha256', secret).update(`capsule-gate/evidence/${purpose}/v1`).digest()
  const tagKey = derive('scope')
  return {
    /** Wraps data keys. */
    wrap: derive('wrap'),
    /** What a scope's name is replaced by on disk. */
    tag: (scope: string): Buffer => createHmac('sha256', tagKey).update(scope).digest(),
    /** Identifies the master key a store belongs to without disclosing it. */
    check: derive('check').subarray(0, 16),
  }
}
