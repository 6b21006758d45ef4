import { UNKNOWN_STATE } from '../../../core/intent/object.js'
import { objectIdOf } from '../../../core/intent/object-id.js'
import type { Admitted, Intended, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { governedObject } from '../governed-object.js'
import { isInPermittedState } from './may-proceed.js'
import { showMandate } from './show-mandate.js'

/**
 * A call without a declaration that shows a mandate, as its agent's credential or beside one. Nothing of it is
 * committed, and it does no more than the mandate names: its actions, on its object, in its states.
 */
export async function bearing(admitted: Admitted, parts: Parts): Promise<Intended | Refused> {
  const mandate = await showMandate(admitted, parts)
  if ('exit' in mandate) return mandate
  const { rule, manifest, args } = admitted
  const model = manifest.object ?? null
  const { soId, permittedStates } = mandate
  const object =
    permittedStates === null ? null : governedObject(soId, model, await parts.state.object(soId))
  const known = advance(admitted, { intent: null, mandate, object })
  const asked = model === null ? null : objectIdOf(model, args, parts.crypto)
  if (asked !== null && asked !== soId) {
    return refuse(known, 'intent_object_mismatch', { observed: 'request' })
  }
  if (!mandate.actions.includes(rule.action)) return refuse(known, 'mandate_scope')
  if (!isInPermittedState(known)) {
    return refuse(known, 'object_state_invalid', { observed: object?.state ?? UNKNOWN_STATE })
  }
  return known
}

/**
 * A call that goes on by itself brings no mandate again: the one that identified its agent when it came may have been
 * revoked, or have ended.
 */
export async function borneBefore(
  admitted: Admitted,
  { id, issuer, expiresAt }: NonNullable<Admitted['agent']['mandate']>,
  parts: Parts,
): Promise<Intended | Refused> {
  const known = advance(admitted, { intent: null, mandate: null, object: null })
  if (!parts.mandates.isStillGood({ issuer, expiresAt })) {
    return refuse(known, 'mandate_invalid', { observed: 'expired' }, { fault: 'expired' })
  }
  return (await parts.state.isRevoked(id)) ? refuse(known, 'mandate_revoked') : known
}
