import type { Request, RequestHandler } from 'express'
import { type Options, rateLimit } from 'express-rate-limit'
import { AdminProblem } from './problem.js'

export type AdminLimits = Readonly<typeof DEFAULT_LIMITS>
export const DEFAULT_LIMITS = {
  /** Per source, without a valid token. */
  refusalsPerMinute: 60,
  /** Per token: reading the journal costs the data plane's own process. */
  requestsPerMinute: 600,
}

const perMinute = (limit: number, more: Partial<Options> = {}): RequestHandler =>
  rateLimit({
    windowMs: 60_000,
    limit,
    legacyHeaders: false,
    standardHeaders: 'draft-8',
    handler: () => {
      throw new AdminProblem('too_many_requests')
    },
    ...more,
  })

/**
 * Unknown callers are counted by address and token holders by token, never together: an agent on the same
 * host must not be able to keep the operator from the kill switch by being refused often.
 */
export const limiters = ({ refusalsPerMinute, requestsPerMinute }: AdminLimits) => ({
  unknown: perMinute(refusalsPerMinute),
  holders: perMinute(requestsPerMinute, {
    // Whatever else the token is used for: halting is never one request too many.
    skip: ({ path }) => path === '/v1/halts',
    keyGenerator: (_, { locals }) => String(locals.token),
  }),
})

export type DecisionLimits = ReturnType<typeof decisionLimits>
export const DECISIONS_PER_MINUTE = 120

/**
 * A message names its source before it is known to be from it. So messages count against the address
 * until they are known to be signed, and only then against the source instead: forgeries from elsewhere
 * must not keep a source from being heard.
 */
export const decisionLimits = (limit: number) => ({
  /** Before anything is read: by address, what does not turn out to be signed. */
  peer: perMinute(limit, {
    skipSuccessfulRequests: true,
    requestWasSuccessful: (_, { locals }) => locals.signedBy !== undefined,
  }),
  /** Once the signature holds: by approval system. */
  source: perMinute(limit, { keyGenerator: (_, { locals }) => String(locals.signedBy) }),
})

/** The message is from this source. */
export function signedBy(source: string, { res }: Request): void {
  if (res !== undefined) res.locals.signedBy = source
}

/** Throws 429 with Retry-After above the limit. */
export const within = (limit: RequestHandler, request: Request): Promise<void> =>
  new Promise((resolve, reject) => {
    if (request.res === undefined) throw new TypeError('a request without its response')
    limit(request, request.res, (error?: unknown) =>
      error === undefined ? resolve() : reject(error),
    )
  })
