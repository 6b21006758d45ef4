import { methodOf } from '../../core/call/parts.js'
import type { Capsule } from '../../core/capsule/model.js'
import type { Ending } from '../../gate/govern/exit.js'
import type { Clock } from '../../ports/clock.js'
import type { Dispatch } from '../../ports/dispatch.js'
import type { RunningGate } from '../open-gate.js'

/** One verdict as logs and metrics tell it: categories, ids and times; never an argument (promise 8). */
export type VerdictTold = {
  readonly action_id: string
  readonly capsule_id: string
  /** The verdict table's row; null for what no call ended in, such as an outcome. */
  readonly code: string | null
  readonly verdict_class: string
  readonly tool: string | null
  readonly agent: string | null
  /** Of an HTTP call. */
  readonly method: string | null
  /** Why the caller is not known, where that ended the call; never a credential. */
  readonly cause: string | null
  readonly developer: string
  readonly mode: string | null
  readonly policy_digest: string | null
  readonly latency_ms: number | null
  readonly upstream_ms: number | null
}

type Timing = { readonly start: number; upstream: number | null }
type Joined = Pick<VerdictTold, 'code' | 'tool' | 'agent' | 'method' | 'cause'> & {
  readonly timing: Timing | null
}

/** Capsules that were announced and never became durable: the oldest are forgotten. */
const MAX_WAITING = 4096

export type VerdictWatch = {
  /** For `openGate`. */
  concluding(ending: Ending, capsule: Capsule): void
  /** The same gate, its calls timed; from here on every durable capsule is told once. */
  around<G extends RunningGate>(gate: G): G
}

/** What is told comes from the durable line, whichever entrance wrote it; the call adds what it knows. */
export function watchVerdicts(
  clock: Pick<Clock, 'monotonic'>,
  tell: (told: VerdictTold) => void,
): VerdictWatch {
  // By caller, which a call keeps through every stage while others of its fields are replaced.
  const timings = new WeakMap<object, Timing>()
  const waiting = new Map<string, Joined>()
  const since = (start: number): number => Math.round((clock.monotonic() - start) * 1000) / 1000

  function told(capsule: Capsule): VerdictTold {
    const joined = waiting.get(capsule.capsule_id)
    waiting.delete(capsule.capsule_id)
    const timing = joined?.timing ?? null
    return {
      action_id: capsule.action_id,
      capsule_id: capsule.capsule_id,
      code: joined?.code ?? null,
      verdict_class: capsule.disposition.verdict_class,
      tool: joined?.tool ?? null,
      agent: joined?.agent ?? null,
      method: joined?.method ?? null,
      cause: joined?.cause ?? null,
      developer: capsule.developer,
      mode: capsule['dev.capsulegate.mode'] ?? null,
      policy_digest: capsule['dev.capsulegate.policy_digest'] ?? null,
      latency_ms: timing === null ? null : since(timing.start),
      upstream_ms: timing?.upstream ?? null,
    }
  }

  return {
    concluding({ code, known }, capsule) {
      const { identified } = known
      const [oldest] = waiting.keys()
      if (waiting.size >= MAX_WAITING && oldest !== undefined) waiting.delete(oldest)
      waiting.set(capsule.capsule_id, {
        code,
        tool: known.rule?.tool ?? null,
        agent: identified.kind === 'known' ? identified.agent : null,
        method: methodOf(known.call),
        cause: code === 'unauthenticated' && identified.kind === 'unknown' ? identified.why : null,
        timing: timings.get(known.call.caller) ?? null,
      })
    },
    around(gate) {
      gate.data.subscribe((line) => {
        if (line.type === 'CAPSULE') tell(told(line.capsule))
      })
      return {
        ...gate,
        govern(call, dispatch, identified) {
          const timing: Timing = { start: clock.monotonic(), upstream: null }
          timings.set(call.caller, timing)
          const timed: Dispatch = async (order) => {
            const start = clock.monotonic()
            try {
              return await dispatch(order)
            } finally {
              timing.upstream = since(start)
            }
          }
          return gate.govern(call, timed, identified)
        },
      }
    },
  }
}
