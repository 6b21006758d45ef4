import type { Request, RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import { AdminProblem } from './problem.js'

export type DecisionLimits = {
  /** Before anything is read: by address, what does not turn out to be signed. */
  readonly peer: RequestHandler
  /** Once the signature holds: by approval system. */
  readonly source: RequestHandler
}
export const DECISIONS_PER_MINUTE = 120

/**
 * A message names its source before it is known to be from it. So messages count against the address
 * until they are known to be signed, and only then against the source instead: forgeries from elsewhere
 * must not keep a source from being heard.
 */
export function decisionLimits(perMinute: number): DecisionLimits {
  const common = {
    windowMs: 60_000,
    limit: perMinute,
    legacyHeaders: false,
    standardHeaders: 'draft-8',
    handler: () => {
      throw new AdminProblem('too_many_requests')
    },
  } as const
  return {
    peer: rateLimit({
      ...common,
      skipSuccessfulRequests: true,
      requestWasSuccessful: (_, { locals }) => locals.signedBy !== undefined,
    }),
    source: rateLimit({ ...common, keyGenerator: (_, { locals }) => String(locals.signedBy) }),
  }
}

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
