import type { Intent } from '../../../core/intent/model.js'
import type { Admitted, Parts } from '../../context.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { signed } from '../../signed-event.js'

/** The session takes nothing from this agent; one that was idle for too long is closed beside the refusal. */
export function refuseSession(
  known: Admitted,
  { sessionId: session_id }: Intent,
  why: 'over' | 'idle' | 'foreign' | 'bound',
  parts: Parts,
): Refused {
  switch (why) {
    case 'over':
      return refuse(known, 'session_over')
    case 'foreign':
      return refuse(known, 'intent_session_mismatch', { observed: 'of_another_agent' })
    // Or an agent that is stopped would go on in a session of another name.
    case 'bound':
      return refuse(known, 'intent_session_mismatch', { observed: 'mandate_in_another' })
    case 'idle': {
      const beside = [signed('SESSION_CLOSED', { session_id, reason: 'idle' }, parts)]
      return { ...refuse(known, 'session_over', { observed: why }), beside }
    }
  }
}
