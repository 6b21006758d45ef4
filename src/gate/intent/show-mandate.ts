import type { Mandate } from '../../core/intent/model.js'
import type { Admitted, Parts } from '../context.js'
import { advance } from '../govern/advance.js'
import { type Refused, refuse } from '../govern/exit.js'

/**
 * The mandate a call is made under: as Agent-Mandate or as its bearer token, and the same one where it is both. It
 * is verified before anything of the declaration counts, so that strangers neither write to the journal nor probe
 * for ids.
 */
export async function showMandate(admitted: Admitted, parts: Parts): Promise<Mandate | Refused> {
  const { call, agent } = admitted
  const { bearer } = call.caller
  const carried = call.declared?.kind === 'carried' ? call.declared.mandate : null
  const borne = bearer !== null && parts.mandates.isOne(bearer) ? bearer : null
  if (carried !== null && borne !== null && carried !== borne) {
    const reason = { observed: 'mandate_carriers_differ' }
    return refuse(admitted, 'intent_malformed', reason, { field: 'mandate' })
  }
  const token = carried ?? borne
  if (token === null) return refuse(admitted, 'mandate_missing')
  const read = await parts.mandates.read(token, call.caller)
  switch (read.kind) {
    case 'invalid':
      return refuse(admitted, 'mandate_invalid', { observed: read.why }, { fault: read.why })
    case 'unavailable': {
      const { actionId } = admitted
      const detail = read.why
      parts.report({ level: 'error', event: 'mandate_unverifiable', actionId, detail })
      return refuse(admitted, 'mandate_unverifiable', { observed: read.why })
    }
    case 'valid':
      return mayBeShown(admitted, read.mandate, agent.agent, parts)
  }
}

async function mayBeShown(
  admitted: Admitted,
  mandate: Mandate,
  agent: string,
  parts: Parts,
): Promise<Mandate | Refused> {
  if (mandate.agent !== agent) {
    const fault = 'another_agent'
    return refuse(admitted, 'mandate_invalid', { observed: fault }, { fault })
  }
  if (await parts.state.isRevoked(mandate.id)) {
    return refuse(advance(admitted, { mandate, intent: null, object: null }), 'mandate_revoked')
  }
  return mandate
}
