import { hex } from '../../../core/bytes/hex.js'
import type { Admitted, OnRecord, Parts } from '../../context.js'
import { thaw } from '../../evidence/frozen.js'
import { findAction } from '../../find-action.js'
import { type Refused, refuse } from '../../govern/exit.js'
import type { Valid } from './validate.js'

/**
 * The id was committed before. The very same declaration of the very call that waits for a person is that step once
 * more. Any other is a duplicate, and is told the action that brought it first, so that a caller whose connection
 * broke finds its verdict.
 */
export async function repeated(
  known: Admitted,
  earlier: { readonly actionId: string | null },
  octets: Uint8Array,
  parts: Parts,
): Promise<Valid | Refused> {
  const waiting = await waitingIntent(known, hex(parts.crypto.sha256(octets)), parts)
  if (waiting !== null) {
    return { kind: 'on_record', intent: { ...waiting, received: octets, written: null } }
  }
  return refuse(known, 'intent_duplicate', {}, await ownAction(earlier.actionId, known, parts))
}

async function waitingIntent(
  { call, agent, requestDigest }: Admitted,
  digest: string,
  parts: Parts,
): Promise<Omit<OnRecord, 'received' | 'written'> | null> {
  const open =
    call.approvalId === null
      ? await parts.state.approvalsFor(agent.agent, requestDigest)
      : [await parts.state.approval(call.approvalId)]
  for (const approval of open) {
    if (approval?.agent !== agent.agent || approval.state.kind === 'closed') continue
    const declared = (await thaw(approval, parts))?.call.declared
    if (declared?.kind !== 'committed' || declared.digest !== digest) continue
    const { intent, mandate, eventId } = declared
    return { intent, mandate, eventId, digest }
  }
  return null
}

/** Another agent's action is not named. */
async function ownAction(id: string | null, { agent }: Admitted, parts: Parts) {
  const lines = id === null ? null : await findAction(id, parts)
  if (id === null || lines === null) return {}
  const { dispatched, concluded } = lines
  if ((dispatched?.agent ?? concluded?.about?.agent) !== agent.agent) return {}
  const capsule = concluded === null ? {} : { earlier_capsule_id: concluded.capsule.capsule_id }
  return { earlier_action_id: id, ...capsule }
}
