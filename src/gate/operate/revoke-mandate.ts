import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

/**
 * An operator revokes a mandate, shown or not yet: no call under it is sent any more. `false`: it is revoked
 * already, and nothing was recorded.
 */
export async function revokeMandate(mandateId: string, by: string, parts: Parts): Promise<boolean> {
  if (await parts.state.isRevoked(mandateId)) return false
  const members = { mandate_id: mandateId }
  const who = await recordActor(by, { did: 'MANDATE_REVOKED', ...members }, parts)
  await parts.journal.append([signed('MANDATE_REVOKED', { ...members, ...who }, parts)])
  return true
}
