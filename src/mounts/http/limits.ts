/** DESIGN §3 "Approval": no call waits longer than this for a person. */
export const MAX_WAIT_SECONDS = 20

/** How one exchange is read and let out, on every HTTP mount. */
export const EXCHANGE_LIMITS = {
  body: {
    maxBytes: 10 * 1024 * 1024,
    /** Octets per second a client must keep up on average, once the grace is over. */
    minBytesPerSecond: 1024,
    graceMs: 5_000,
  },
  /** Responses up to this many octets are held until their capsule is durable. */
  holdLimit: 1024 * 1024,
  /** A client that takes nothing for this long is gone; the observing goes on without it. */
  stallMs: 30_000,
}
export type ExchangeLimits = Readonly<typeof EXCHANGE_LIMITS>
export type BodyLimits = Readonly<ExchangeLimits['body']>
