import type { IncomingMessage } from 'node:http'
import type { Header } from '../../core/call/call.js'
import type { Problem } from '../../core/verdict/problem.js'
import { rawHeaders } from '../proxy/read-request.js'

const actionPath = (id: string): string => `/.gate/v1/actions/${id}`

/** Where to ask how it stands, and which preference was kept (RFC 9110 §15.3.3, RFC 7240 §3). */
export function pendingHeaders(problem: Problem, req: IncomingMessage): readonly Header[] {
  const { status, approval_id: id, retry_after_seconds: after } = problem
  if (status !== 202 || typeof id !== 'string') return []
  const applied = preferences(req)
  return [
    ['location', actionPath(id)],
    ['retry-after', String(typeof after === 'number' ? Math.max(1, Math.ceil(after)) : 5)],
    ...(applied === '' ? [] : ([['preference-applied', applied]] as const)),
  ]
}

function preferences(req: IncomingMessage): string {
  const asked = rawHeaders(req)
    .filter(([name]) => name === 'prefer')
    .flatMap(([, value]) => value.split(','))
    .map((preference) => preference.split(/[;=]/)[0]?.trim().toLowerCase())
  return ['respond-async', 'wait'].filter((name) => asked.includes(name)).join(', ')
}
