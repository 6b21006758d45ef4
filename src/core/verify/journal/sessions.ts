import type { Hashing } from '../../crypto/crypto.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { clip, type Findings } from '../finding.js'
import { createIdSet } from './id-set.js'
import { detached } from './line.js'

type Open = { lastStep: number; gap: boolean }

/**
 * Sessions (seed intent-declaration-primitive-01 §5.2 f, §5.5.2): steps count up, a session with a commitment gap
 * stands still until a person resumed it, and one that is closed neither goes on nor begins again. Of a closed
 * session only its id is kept.
 */
export function createSessions(crypto: Hashing) {
  const open = new Map<string, Open>()
  const over = createIdSet(crypto)

  function at(sessionId: string): Open {
    const known = open.get(sessionId)
    if (known !== undefined) return known
    const begun = { lastStep: 0, gap: false }
    open.set(detached(sessionId), begun)
    return begun
  }

  return {
    opened({ session_id }: LineOf<'SESSION_OPENED'>, findings: Findings): void {
      if (over.has(session_id)) findings.fault('session_reopened', `${clip(session_id)} was closed`)
      else at(session_id)
    },
    submitted(
      { session_id, step_sequence: step }: LineOf<'IDP_SUBMITTED'>,
      findings: Findings,
    ): void {
      // What was under way when it was closed is on record all the same; it is not sent.
      if (over.has(session_id)) return
      const session = at(session_id)
      if (step <= session.lastStep)
        findings.fault('declaration_step_stale', `step ${step} after step ${session.lastStep}`)
      session.lastStep = Math.max(session.lastStep, step)
    },
    gap({ session_id }: LineOf<'IDP_COMMITMENT_GAP'>): void {
      if (!over.has(session_id)) at(session_id).gap = true
    },
    resumed({ session_id }: LineOf<'SESSION_RESUMED'>, findings: Findings): void {
      if (over.has(session_id)) findings.fault('session_reopened', `${clip(session_id)} was closed`)
      else at(session_id).gap = false
    },
    closed({ session_id }: LineOf<'SESSION_CLOSED'>): void {
      open.delete(session_id)
      over.add(session_id)
    },
    /** Whether nothing of its session may be sent. */
    stops({ intent }: LineOf<'ACTION_DISPATCHED'>): boolean {
      if (intent === undefined) return false
      return over.has(intent.session_id) || open.get(intent.session_id)?.gap === true
    },
  }
}
