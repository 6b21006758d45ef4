import type { Approval } from '../../ports/state.js'
import { claimItem } from '../approval/claim-item.js'
import { transition } from '../approval/transition.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

/** `busy`: it is being ended, or what people are asked about it is being concluded, at this moment. */
export type SessionClosing = 'closed' | 'over' | 'unknown' | 'busy'

/**
 * An operator ends a session: no call of it is sent from here on. What people were asked about the session itself
 * ends in the same append, so that nobody resumes what is over; what they were asked about its calls ends next.
 */
export async function closeSession(
  sessionId: string,
  by: string,
  parts: Parts,
): Promise<SessionClosing> {
  const actionId = parts.ids.actionId()
  try {
    if ((await parts.state.claim(`session ${sessionId}`, actionId)).kind === 'held') return 'busy'
    // Held first: from here on nobody decides about the session.
    const asked = await holdAsked(sessionId, actionId, parts)
    if (asked === 'busy') return 'busy'
    const absent = await absence(sessionId, parts)
    if (absent !== null) return absent
    const members = { session_id: sessionId, reason: 'operator' as const }
    const who = await recordActor(by, { did: 'SESSION_CLOSED', session_id: sessionId }, parts)
    const closed = signed('SESSION_CLOSED', { ...members, ...who }, parts)
    if (asked === null) await parts.journal.append([closed])
    else {
      const at = parts.journal.timestamp()
      const step = { code: 'approval_withdrawn', approval: asked, actionId, at } as const
      await transition({ ...step, events: [closed] }, parts)
    }
    return 'closed'
  } finally {
    await parts.state.unclaim(actionId)
  }
}

/** What people are asked about the session itself, with every such request held. */
async function holdAsked(
  sessionId: string,
  actionId: string,
  parts: Parts,
): Promise<Approval | null | 'busy'> {
  let asked: Approval | null = null
  for (const approval of await parts.state.approvals()) {
    if (approval.sessionId !== sessionId || approval.holds !== 'session') continue
    const held = await claimItem(approval, actionId, parts)
    if (held === 'held') return 'busy'
    if (held !== 'moved') asked = held
  }
  return asked
}

async function absence(sessionId: string, { state }: Parts): Promise<'over' | 'unknown' | null> {
  if ((await state.session(sessionId)) !== null) return null
  return (await state.isOver(sessionId)) ? 'over' : 'unknown'
}
