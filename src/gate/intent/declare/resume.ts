import type { Committed } from '../../../core/intent/model.js'
import type { Admitted, Intended, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { mayProceed } from './may-proceed.js'
import { WRITTEN } from './repeated.js'

/**
 * A call that goes on by itself, after a wait: its declaration stands in the journal and is not committed again.
 * What it stands on may have ended meanwhile.
 */
export async function resume(
  admitted: Admitted,
  committed: Committed,
  parts: Parts,
): Promise<Intended | Refused> {
  const { mandate, intent, eventId, digest } = committed
  const onRecord = { intent, mandate, eventId, digest, received: null, written: WRITTEN }
  const known = advance(admitted, { mandate, intent: onRecord, object: null })
  if (!parts.mandates.isStillGood(mandate)) {
    return refuse(known, 'mandate_invalid', { observed: 'expired' }, { fault: 'expired' })
  }
  if (await parts.state.isRevoked(mandate.id)) return refuse(known, 'mandate_revoked')
  return mayProceed(admitted, { intent: onRecord, mandate }, parts)
}
