import type { Hashing } from '../../crypto/crypto.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { clip, type Findings } from '../finding.js'
import { createIdSet } from './id-set.js'
import { type Concluded, detached } from './line.js'

/** What forbids that a call is sent, as the lines before its dispatch say. */
export type Stopped = 'halt' | 'session' | null
type Dispatched = { readonly seq: number; readonly request: string; readonly stopped: Stopped }

/** Told, and found to have been sent all the same. */
const STOPPED = {
  halt: ['action_halted_recovered', 'action_sent_while_halted', 'its halt'],
  session: [
    'action_stopped_recovered',
    'action_sent_in_stopped_session',
    'the stop of its session',
  ],
} as const
const SHOWN = 3

/**
 * Actions: each id belongs to one, each dispatch has one conclusion, each effect an earlier dispatch of the same
 * request, and what was dispatched behind its halt, or behind the stop of its session, was not sent. Of an action that is concluded only its id is kept.
 */
export function createActions(
  crypto: Hashing,
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  const ids = createIdSet(crypto)
  const open = new Map<string, Dispatched>()
  let begunBefore = 0

  function conclude(of: Dispatched, capsule: Concluded, findings: Findings): void {
    const { effect, recovered, requestDigest, seq } = capsule
    if (effect && requestDigest !== of.request)
      findings.fault('action_request_mismatch', `seq ${seq}: seq ${of.seq} was to send another`)
    if (of.stopped === null || !effect) return
    const [told, sent, by] = STOPPED[of.stopped]
    // Nothing says what became of it before the gate died: the capsule itself says no more than that.
    if (recovered) findings.warn(told, `seq ${of.seq} stands behind ${by}`)
    else findings.fault(sent, `seq ${of.seq} stands behind ${by}`)
  }

  return {
    dispatched(line: LineOf<'ACTION_DISPATCHED'>, stopped: Stopped, findings: Findings): void {
      const { action_id: id, seq, request_digest } = line
      if (!ids.add(id)) {
        findings.fault('action_id_repeated', `${clip(id)} stands in an earlier line`)
        return
      }
      open.set(detached(id), { seq, request: detached(request_digest), stopped })
    },
    concluded(capsule: Concluded, findings: Findings): void {
      const { actionId: id, effect, beside } = capsule
      if (id === null) return
      const dispatched = open.get(id)
      if (dispatched !== undefined) {
        open.delete(id)
        conclude(dispatched, capsule, findings)
        return
      }
      if (!ids.add(id)) {
        findings.fault('action_id_repeated', `${clip(id)} has its conclusion already`)
        return
      }
      if (!effect || beside) return
      if (fromStart()) findings.fault('effect_without_dispatch', `${clip(id)} was never dispatched`)
      else begunBefore++
    },
    /** Dispatched, and not concluded by any line so far. */
    open: () => ({ count: open.size, first: [...open.keys()].slice(0, SHOWN).map(clip) }),
    /** Effects whose dispatch may stand in lines that are not here. */
    begunBefore: (): number => begunBefore,
  }
}
