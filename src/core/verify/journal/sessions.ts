import type { Hashing } from '../../crypto/crypto.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { clip, type Findings } from '../finding.js'
import { createIdSet } from './id-set.js'
import { type Concluded, detached } from './line.js'
import { createSessionStops } from './session-stops.js'

type Open = { lastStep: number }

/**
 * Sessions (seed intent-declaration-primitive-01 §5.2 f, §5.5.2): steps count up, a session that people
 * were asked about stands still until one of them resumed it (see session-stops.ts), and one that is closed neither goes
 * on nor begins again. Of a closed session only its id is kept.
 */
export function createSessions(
  crypto: Hashing,
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  const open = new Map<string, Open>()
  const stops = createSessionStops(fromStart)
  const over = createIdSet(crypto)

  function at(sessionId: string): Open {
    const known = open.get(sessionId)
    if (known !== undefined) return known
    const begun = { lastStep: 0 }
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
    gap(line: LineOf<'IDP_COMMITMENT_GAP'>): void {
      if (!over.has(line.session_id)) stops.gap(line)
    },
    /** Also about a session that is over: of a call that was under way then. It has nothing to hold. */
    asked(line: LineOf<'APPROVAL_OPENED'>): void {
      if (line.session_id !== undefined && !over.has(line.session_id)) stops.asked(line)
    },
    concluded: (capsule: Concluded): void => stops.concluded(capsule),
    resumed(line: LineOf<'SESSION_RESUMED'>, findings: Findings): void {
      const { session_id } = line
      if (over.has(session_id)) findings.fault('session_reopened', `${clip(session_id)} was closed`)
      else stops.resumed(line, findings)
    },
    closed(line: LineOf<'SESSION_CLOSED'>): void {
      open.delete(line.session_id)
      over.add(line.session_id)
      stops.closed(line)
    },
    settle: (findings: Findings): void => stops.settle(findings),
    /** Whether nothing of its session may be sent. */
    stops({ intent }: LineOf<'ACTION_DISPATCHED'>): boolean {
      if (intent === undefined) return false
      return over.has(intent.session_id) || stops.holds(intent.session_id)
    },
  }
}
