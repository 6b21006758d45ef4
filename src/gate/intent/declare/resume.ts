import { checkRule } from '../../../core/intent/check.js'
import type { Committed } from '../../../core/intent/model.js'
import type { Admitted, Intended, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { mayProceed } from './may-proceed.js'

/**
 * A call that goes on by itself, after a wait: its declaration stands in the journal and is not committed again.
 * What it stands on may have ended meanwhile, and the manifest may be another.
 */
export async function resume(
  admitted: Admitted,
  committed: Committed,
  parts: Parts,
): Promise<Intended | Refused> {
  const { mandate, intent, eventId, digest } = committed
  const onRecord = { intent, mandate, eventId, digest, received: null, written: null }
  const known = advance(admitted, { mandate, intent: onRecord, object: null })
  // Known before anything is sent, so it must not become a commitment gap (§5.5).
  const other = checkRule(intent, admitted.rule)
  if (admitted.rule.intent === undefined || other?.code === 'IDP_MALFORMED') {
    return refuse(known, 'judgement_stale', { observed: 'manifest' })
  }
  if (!parts.mandates.isStillGood(mandate)) {
    return refuse(known, 'mandate_invalid', { observed: 'expired' }, { fault: 'expired' })
  }
  if (await parts.state.isRevoked(mandate.id)) return refuse(known, 'mandate_revoked')
  return mayProceed(admitted, { intent: onRecord, mandate }, parts)
}
