import type { SessionOpening } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

/**
 * An operator opens a session for one agent, before its first declaration. `open`: it is already, and nothing was
 * recorded; `foreign`: it is another agent's; `over`: one that is over never opens again.
 */
export async function openSession(
  { sessionId, agent, by }: { readonly sessionId: string; readonly agent: string; by: string },
  parts: Parts,
): Promise<SessionOpening> {
  const known = await parts.state.session(sessionId)
  if (known !== null) return known.agent === agent ? 'open' : 'foreign'
  if (await parts.state.isOver(sessionId)) return 'over'
  const members = { session_id: sessionId, agent }
  const who = await recordActor(by, { did: 'SESSION_OPENED', ...members }, parts)
  // Nothing is awaited between the two: the line that opens a session comes before any other of it.
  const opening = await parts.state.openSession(sessionId, agent, parts.clock.now())
  if (opening !== 'opened') return opening
  try {
    await parts.journal.append([signed('SESSION_OPENED', { ...members, ...who }, parts)])
  } catch (error) {
    await parts.state.releaseSession(sessionId)
    throw error
  }
  return opening
}
