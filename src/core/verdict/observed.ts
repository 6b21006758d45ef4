import type { Observation } from '../capsule/observation.js'
import type { Code } from './table.js'

/** What was seen of a dispatch → the row it is (DESIGN §6). Total over Observation. */
export function rowOf(observation: Observation): Code {
  switch (observation.kind) {
    case 'not_sent':
      if (observation.cause === 'withdrawn') return 'judgement_stale'
      if (observation.cause === 'no_room_to_hold') return 'held_memory_exhausted'
      return observation.deadline ? 'deadline_before_dispatch' : 'upstream_unreachable'
    case 'sent':
      return observation.deadline ? 'deadline_after_dispatch' : 'outcome_unknown'
    case 'claimed':
      return observation.ok ? 'claimed' : 'runtime_failed'
    case 'complete': {
      if (observation.response.seen.status >= 500) return 'tool_failed'
      return observation.success ? 'executed' : 'tool_refused'
    }
  }
}
