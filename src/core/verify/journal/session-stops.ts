import type { LineOf } from '../../journal/vocabulary.js'
import { clip, type Findings } from '../finding.js'
import { type Concluded, detached } from './line.js'

type Item = { readonly approvalId: string; readonly sessionId: string }
/** What stops a session: open requests about it with the capsule that the next one supersedes, and gaps without one. */
type Stop = { readonly asked: Map<string, string>; gaps: number }

/**
 * What holds a session until people have decided (seed intent-declaration-primitive-01 §5.5.2): a commitment gap, with
 * the request to them that it brings along in its batch, and every other request about it. A person lets go of the one
 * that they were asked about: the line that says so stands beside the capsule of their decision, and another request
 * still holds. Of what is over nothing is kept.
 */
export function createSessionStops(
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  const stopped = new Map<string, Stop>()
  /** Open requests by the capsule that the next one supersedes. */
  const items = new Map<string, Item>()
  /** Requests that a person granted in this batch. */
  const granted = new Map<string, Item>()
  /** Sessions with a gap in this batch about which nobody was asked yet. */
  const unasked = new Set<string>()

  function at(sessionId: string): Stop {
    const known = stopped.get(sessionId)
    if (known !== undefined) return known
    const stop = { asked: new Map<string, string>(), gaps: 0 }
    stopped.set(detached(sessionId), stop)
    return stop
  }

  function point(item: Item, capsuleId: string): void {
    const on = detached(capsuleId)
    items.set(on, item)
    stopped.get(item.sessionId)?.asked.set(item.approvalId, on)
  }

  return {
    gap({ session_id }: LineOf<'IDP_COMMITMENT_GAP'>): void {
      at(session_id).gaps++
      unasked.add(detached(session_id))
    },
    asked({ session_id, approval_id, capsule_id, holds }: LineOf<'APPROVAL_OPENED'>): void {
      if (holds !== 'session' || session_id === undefined) return
      const stop = at(session_id)
      // One request of its own for each gap: from here on it holds the session.
      if (stop.asked.has(approval_id)) return
      if (stop.gaps > 0) stop.gaps--
      if (stop.gaps === 0) unasked.delete(session_id)
      const item = { approvalId: detached(approval_id), sessionId: detached(session_id) }
      point(item, capsule_id)
    },
    concluded({ id, supersedes, verdict, human, resumed }: Concluded): void {
      const item = supersedes === null ? undefined : items.get(supersedes)
      if (supersedes === null || item === undefined) return
      items.delete(supersedes)
      if (id !== null && (verdict === 'deferred' || verdict === 'escalated')) point(item, id)
      if (human && resumed) granted.set(item.approvalId, item)
    },
    resumed({ session_id, approval_id }: LineOf<'SESSION_RESUMED'>, findings: Findings): void {
      const stop = stopped.get(session_id)
      if (granted.get(approval_id)?.sessionId === session_id) {
        granted.delete(approval_id)
        stop?.asked.delete(approval_id)
        if (stop?.asked.size === 0 && stop.gaps === 0) stopped.delete(session_id)
      } else if (fromStart() || stop?.asked.has(approval_id) === true)
        findings.fault(
          'session_resumed_unasked',
          `${clip(session_id)}: no person granted ${clip(approval_id)} in its batch`,
        )
    },
    closed({ session_id }: LineOf<'SESSION_CLOSED'>): void {
      for (const capsuleId of stopped.get(session_id)?.asked.values() ?? []) items.delete(capsuleId)
      stopped.delete(session_id)
      unasked.delete(session_id)
    },
    holds: (sessionId: string): boolean => stopped.has(sessionId),
    /** The end of a batch. */
    settle(findings: Findings): void {
      for (const sessionId of unasked)
        findings.fault('gap_without_request', `${clip(sessionId)}: nobody was asked about its gap`)
      unasked.clear()
      granted.clear()
    },
  }
}
