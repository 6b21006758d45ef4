import type { ServerResponse } from 'node:http'
import type { Header } from '../../../core/call/call.js'
import type { Plain } from '../../../core/json/value.js'
import { type Problem, unrecordedProblem } from '../../../core/verdict/problem.js'
import { flat } from '../response-headers.js'

/** Questions to the gate itself are no calls of tools: they are answered without a capsule. */
const RESERVED = {
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
  report_over: {
    status: 409,
    said: 'There is nothing more to report: the action is concluded, or is not yours to report on.',
    instead: 'Ask for its status; the named capsule, where there is one, says how it ended.',
  },
  report_malformed: {
    status: 400,
    said: 'The report cannot be read, so it has ended nothing.',
    instead: 'Send it again as {"ok": true or false, "claimed": {…}}, with "claimed" if you like.',
  },
  report_too_large: {
    status: 413,
    said: 'The report is over the size limit, so it has ended nothing.',
    instead: 'Send it again with less in "claimed".',
  },
  reports_exhausted: {
    status: 429,
    said: 'You have reported too much that no permit covers, or have too much under way.',
    instead: 'Wait a minute; ask for a permit before you act.',
  },
  mandate_missing: {
    status: 401,
    said: 'The question is about the object of a mandate, and brought none.',
    instead: 'Send the mandate you were issued as Agent-Mandate (or bearer token).',
  },
  mandate_malformed: {
    status: 400,
    said: 'The question brought more than one mandate.',
    instead: 'Send one.',
  },
  mandate_invalid: {
    status: 401,
    said: 'The mandate is not accepted: it cannot be verified, is out of date, or is not yours.',
    instead: 'Ask your issuer for a new mandate.',
  },
  mandate_unverifiable: {
    status: 503,
    said: 'The keys of the issuer of this mandate cannot be had at present.',
    instead: 'Ask again later.',
  },
  mandate_revoked: {
    status: 403,
    said: 'The mandate was revoked.',
    instead: 'Stop; only a new mandate can let you go on.',
  },
  transition_not_here: {
    status: 501,
    said: 'Transitions cannot be made here: the call in one would pass by what the application has in front of it.',
    instead: 'Send the call itself, with Agent-Intent and Agent-Mandate in its head.',
  },
} as const
export type ReservedCode = keyof typeof RESERVED

export function reservedProblem(
  code: ReservedCode,
  more: { readonly [name: string]: Plain } = {},
): Problem {
  const { status, said: title, instead } = RESERVED[code]
  return {
    // The members that are the same wherever nothing was recorded and nothing dispatched.
    ...unrecordedProblem('overloaded'),
    type: `urn:capsule-gate:error:${code}`,
    title,
    status,
    detail: `${title} ${instead}`,
    code,
    deny_code: code,
    deny_reason: title,
    ...more,
  }
}

export function sendJson(
  res: ServerResponse,
  value: { readonly [name: string]: Plain },
  headers: readonly Header[] = [],
): void {
  if (res.destroyed || res.closed) return
  const body = Buffer.from(JSON.stringify(value), 'utf8')
  const own = [
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
    ['cache-control', 'no-store'],
  ] as const
  res.writeHead(200, flat([...own, ...headers])).end(body)
}
