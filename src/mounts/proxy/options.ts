import type { NamedUpstream } from '../../app/upstreams.js'
import type { Gate } from '../../gate/gate.js'
import type { BodyLimits } from '../http/read-body.js'
import type { PassRoute } from './pass-through.js'

/** Tells the operator what happened at the edge; never a header or a body. */
export type Report = (event: {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
  readonly detail?: string
}) => void
export type ProxyOptions = {
  readonly gate: Gate
  readonly upstreams: ReadonlyMap<string, NamedUpstream>
  readonly passThrough: readonly PassRoute[]
  readonly limits: ProxyLimits
  readonly report: Report
}
export type ProxyLimits = {
  readonly body: BodyLimits
  readonly holdLimit: number
  readonly stallMs: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** Refusals of unknown callers per source and window. */
  readonly maxRefusals: number
  readonly windowSeconds: number
  readonly maxLoopDelayMs: number
}

export const DEFAULT_LIMITS: ProxyLimits = {
  body: { maxBytes: 10 * 1024 * 1024, minBytesPerSecond: 1024, graceMs: 5_000 },
  holdLimit: 1024 * 1024,
  stallMs: 30_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  maxRefusals: 100,
  windowSeconds: 60,
  maxLoopDelayMs: 500,
}
