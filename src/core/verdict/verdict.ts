import { decisionOf } from '../capsule/disposition.js'
import type { By, EffectMeta, Verdict } from '../capsule/input.js'
import type { Observation } from '../capsule/observation.js'
import type { DispositionDecision } from '../capsule/registries.js'
import { type Code, TABLE } from './table.js'

/** What is needed to state a row as a capsule's verdict. */
export type Happened = {
  readonly code: Code
  readonly reason_digest?: string
  /** Null: the call left the pipeline before dispatch. */
  readonly sent: {
    readonly observation: Observation
    readonly effect: EffectMeta
    readonly by: By
  } | null
}

/**
 * Row → decision. What was sent had been accepted, but for what a runtime did without asking; a session that a
 * person let go on was accepted too.
 */
export function decisionOfRow(code: Code): DispositionDecision {
  const { verdict, effect } = TABLE[code]
  if (code === 'session_resumed') return 'accept'
  return code === 'ungated_report' ? 'reject' : decisionOf(verdict, effect !== 'none')
}

const NO_REASON = {}

/** Row → verdict. Total: a row and an observation that contradict each other throw, they never blend. */
export function verdictOf({ code, reason_digest, sent }: Happened): Verdict {
  const reason = reason_digest === undefined ? NO_REASON : { reason_digest }
  const row = TABLE[code]
  if (code === 'ungated_report')
    throw new TypeError('a report without a permit is no call that ran')
  if (sent === null || sent.observation.kind === 'not_sent') {
    switch (row.verdict) {
      case 'timeout':
        if (row.effect !== 'none') throw new TypeError(`${code} needs a dispatch`)
        return { kind: 'timed_out', ...reason }
      case 'denied':
      case 'blocked':
      case 'needs_decision':
      case 'hitl_dispatched':
      case 'engine_failure':
        return { kind: 'refused', verdict_class: row.verdict, ...reason }
      default:
        throw new TypeError(`${code} needs a dispatch`)
    }
  }
  if (row.effect === 'none') throw new TypeError(`${code} happens before dispatch`)
  const { observation, effect, by } = sent
  if (observation.kind === 'sent') {
    const verdict_class = row.verdict === 'timeout' ? 'timeout' : 'errored'
    return { kind: 'ran', by, effect, observation, verdict_class, ...reason }
  }
  const verdict_class = row.verdict === 'executed' ? 'executed' : 'errored'
  const ran: Verdict = { kind: 'ran', by, effect, observation, verdict_class }
  return reason_digest === undefined ? ran : { ...ran, reason_digest }
}

/** What was seen of a dispatch → the row it is (DESIGN §6). Total over Observation. */
export function rowOf(observation: Observation): Code {
  switch (observation.kind) {
    case 'not_sent':
      if (observation.cause === 'withdrawn') return 'judgement_stale'
      if (observation.cause === 'no_room_to_hold') return 'held_memory_exhausted'
      if (observation.cause === 'cancelled') return 'call_cancelled'
      if (observation.cause === 'permits_exhausted') return 'permits_exhausted'
      return observation.deadline ? 'deadline_before_dispatch' : 'upstream_unreachable'
    case 'sent':
      return observation.deadline ? 'deadline_after_dispatch' : 'outcome_unknown'
    case 'claimed':
      return observation.ok ? 'claimed' : 'runtime_failed'
    case 'unfinished':
      return 'unfinished'
    case 'complete':
      return ROW_OF[observation.outcome]
  }
}

const ROW_OF = {
  succeeded: 'executed',
  refused: 'tool_refused',
  failed: 'tool_failed',
} as const satisfies Record<Extract<Observation, { kind: 'complete' }>['outcome'], Code>
