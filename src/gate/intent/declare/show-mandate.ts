import type { Mandate } from '../../../core/intent/model.js'
import type { Admitted, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { readMandate } from './read-mandate.js'

/**
 * The mandate a call is made under. It is verified before anything of the declaration counts, so that strangers
 * neither write to the journal nor probe for ids.
 */
export async function showMandate(admitted: Admitted, parts: Parts): Promise<Mandate | Refused> {
  const { call, agent, actionId } = admitted
  const shown = await readMandate(call, agent.agent, parts)
  switch (shown.kind) {
    case 'valid':
      return shown.mandate
    case 'missing':
      return refuse(admitted, 'mandate_missing')
    case 'malformed':
      return refuse(admitted, 'intent_malformed', { observed: shown.fault }, { field: 'mandate' })
    case 'invalid': {
      const { why: fault } = shown
      return refuse(admitted, 'mandate_invalid', { observed: fault }, { fault })
    }
    case 'unverifiable': {
      const { why } = shown
      parts.report({ level: 'error', event: 'mandate_unverifiable', actionId, detail: why })
      return refuse(admitted, 'mandate_unverifiable', { observed: why })
    }
    case 'revoked': {
      const known = { mandate: shown.mandate, intent: null, object: null }
      return refuse(advance(admitted, known), 'mandate_revoked')
    }
  }
}
