import type { GateReport } from '../../gate/context.js'
import type { Gate } from '../../gate/gate.js'
import type { NamedUpstream } from '../../ports/upstream.js'
import type { MountBeside } from '../http/beside.js'
import { EXCHANGE_LIMITS } from '../http/limits.js'
import type { PassRoute } from './pass-through.js'

/** Tells the operator what happened at the edge; never a header or a body. */
export type Report = (event: Pick<GateReport, 'level' | 'event' | 'detail'>) => void
export type ProxyOptions = {
  readonly gate: Gate
  readonly upstreams: ReadonlyMap<string, NamedUpstream>
  readonly passThrough: readonly PassRoute[]
  /** Another mount on the same listener, under paths of its own. */
  readonly beside?: MountBeside
  readonly limits: ProxyLimits
  readonly report: Report
}
export type ProxyLimits = Readonly<typeof DEFAULT_LIMITS>

export const DEFAULT_LIMITS = {
  ...EXCHANGE_LIMITS,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  /** Refusals of unknown callers per source and window. */
  maxRefusals: 100,
  windowSeconds: 60,
  maxLoopDelayMs: 500,
}
