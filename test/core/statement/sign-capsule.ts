import type { Capsule } from '../../../src/core/capsule/model.js'
import type { StatementType } from '../../../src/core/statement/header.js'
import {
  type SignedStatement,
  type SigningKey,
  signStatement,
  toSign,
} from '../../../src/core/statement/sign.js'

/** From the capsule to its statement in one step, as the spine and the journal do it in two. */
export function signCapsule(
  capsule: Capsule,
  key: SigningKey & { readonly statement: StatementType; readonly sub?: string },
): SignedStatement & { readonly payload: string } {
  const order = toSign(capsule, key.statement, key.sub)
  return { payload: order.payload, ...signStatement(order, key) }
}
