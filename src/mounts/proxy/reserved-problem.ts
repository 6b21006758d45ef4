import type { Problem } from '../../core/verdict/problem.js'

/** Questions to the gate itself are no calls of tools: they are answered without a capsule. */
const ROWS = {
  not_found: {
    status: 404,
    said: 'There is no such resource, or it is not yours.',
    instead: 'Ask for an action whose id you were given in Gate-Action.',
  },
  no_result: {
    status: 404,
    said: 'There is no result to collect.',
    instead:
      'Ask for the status; the result of a call is kept where its tool or an Idempotency-Key says so.',
  },
  not_open: {
    status: 409,
    said: 'The request cannot be withdrawn: it is over, halted, or being concluded.',
    instead: 'Ask for its status.',
  },
} as const

export type ReservedCode = keyof typeof ROWS

export function reservedProblem(code: ReservedCode): Problem {
  const { status, said, instead } = ROWS[code]
  return {
    type: `urn:capsule-gate:error:${code}`,
    title: said,
    status,
    detail: `${said} ${instead}`,
    code,
    verdict: null,
    dispatched: false,
    idp_received: null,
    deny_code: code,
    deny_reason: said,
    available_actions: [],
    suggested_paths: [],
    hem_available: false,
  }
}
