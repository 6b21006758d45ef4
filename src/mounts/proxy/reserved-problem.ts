import type { Problem } from '../../core/verdict/problem.js'
import { TABLE } from '../../core/verdict/table.js'

/** Questions to the gate itself are no calls of tools: they are answered without a capsule. */
const ROWS = {
  not_found: {
    status: 404,
    said: 'There is no such resource, or it is not yours.',
    instead: 'Ask for an action whose id you were given in Gate-Action.',
  },
  unauthenticated: { status: 401, ...words(TABLE.unauthenticated) },
} as const

function words({ said, instead }: { said: string; instead: string }): {
  said: string
  instead: string
} {
  return { said, instead }
}

export function reservedProblem(code: keyof typeof ROWS): Problem {
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
