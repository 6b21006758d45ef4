import type { RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import { AdminProblem } from './problem.js'

export type AdminLimits = {
  /** Per source, without a valid token. */
  readonly refusalsPerMinute: number
  /** Per token: reading the journal costs the data plane's own process. */
  readonly requestsPerMinute: number
}
export const DEFAULT_LIMITS: AdminLimits = { refusalsPerMinute: 60, requestsPerMinute: 600 }

/**
 * Strangers are counted by address and token holders by token, never together: an agent on the same
 * host must not be able to keep the operator from the kill switch by being refused often.
 */
export function limiters({ refusalsPerMinute, requestsPerMinute }: AdminLimits): {
  readonly strangers: RequestHandler
  readonly holders: RequestHandler
} {
  const common = {
    windowMs: 60_000,
    legacyHeaders: false,
    standardHeaders: 'draft-8',
    handler: () => {
      throw new AdminProblem('too_many_requests')
    },
  } as const
  return {
    strangers: rateLimit({ ...common, limit: refusalsPerMinute }),
    holders: rateLimit({
      ...common,
      limit: requestsPerMinute,
      // Whatever else the token is used for: halting is never one request too many.
      skip: ({ path }) => path === '/v1/halts',
      keyGenerator: (_, response) => String(response.locals.token),
    }),
  }
}
