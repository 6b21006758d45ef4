import type { Capsule } from '../../../src/core/capsule/model.js'
import type { StatementType } from '../../../src/core/statement/header.js'
import {
  type Sealed,
  type SealingKey,
  sealStatement,
  toSeal,
} from '../../../src/core/statement/seal.js'

/** From the capsule to its statement in one step, as the spine and the journal do it in two. */
export function sealCapsule(
  capsule: Capsule,
  key: SealingKey & { readonly statement: StatementType; readonly sub?: string },
): Sealed & { readonly payload: string } {
  const order = toSeal(capsule, key.statement, key.sub)
  return { payload: order.payload, ...sealStatement(order, key) }
}
