import type { BodyLimits } from './read-body.js'

/** DESIGN §3 "Approval": no call waits longer than this for a person. */
export const MAX_WAIT_SECONDS = 20

/** How one exchange is read and let out, on every HTTP mount. */
export type ExchangeLimits = {
  readonly body: BodyLimits
  /** Responses up to this many octets are held until their capsule is durable. */
  readonly holdLimit: number
  /** A client that takes nothing for this long is gone; the observing goes on without it. */
  readonly stallMs: number
}

export const EXCHANGE_LIMITS: ExchangeLimits = {
  body: { maxBytes: 10 * 1024 * 1024, minBytesPerSecond: 1024, graceMs: 5_000 },
  holdLimit: 1024 * 1024,
  stallMs: 30_000,
}
