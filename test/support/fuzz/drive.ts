import { requestHead } from '../../../src/adapters/http-client/request-head.js'
import { outgoing } from '../../../src/core/call/outgoing.js'
import { JsonNumber } from '../../../src/core/json/value.js'
import { match, type Router } from '../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../src/core/manifest/route/read-args.js'
import { headFault } from '../../../src/mounts/http/head-fault.js'
import { httpCall } from '../manifests.js'
import type { JudgedRule } from '../readers/oracle.js'
import { parseRequest, type RawRequest } from '../readers/request.js'
import type { Tree } from '../readers/tree.js'

export type Driven =
  | { readonly kind: 'refused'; readonly code: string }
  | {
      readonly kind: 'dispatched'
      readonly sent: RawRequest
      readonly tool: string
      readonly args: ReadonlyMap<string, unknown>
    }

/** The way of a call from its head to the octets for the upstream, without journal, policy and sockets. */
export function drive(router: Router, request: RawRequest): Driven {
  const { method, target, body } = request
  const headers = [['host', 'gate'] as const, ...request.headers]
  const call = httpCall(method, target, body, { headers })
  if (headFault({ method, headers, httpVersion: '1.1' }) !== null) return refused('head')
  const matched = match(router, call)
  if (!matched.ok) return refused(matched.code)
  const read = readArgs(matched, call)
  if (!read.ok) return refused(read.code)
  if (read.notRead.query.length > 0) return refused('query_not_read')
  if (read.notRead.members.length > 0) return refused('member_not_read')
  const { rule } = matched.route
  const sent = outgoing(call, rule)
  const head = sent === null ? null : requestHead(sent, 'tool', rule.connection, null)
  if (head === null) return refused('unsendable')
  return {
    kind: 'dispatched',
    sent: parseRequest(head, body),
    tool: rule.tool,
    args: plainArgs(read.args),
  }
}

const refused = (code: string): Driven => ({ kind: 'refused', code })

/** Judged values as the oracle compares them. */
export const plainArgs = (
  args: ReadonlyMap<string, { readonly value: unknown }>,
): ReadonlyMap<string, unknown> =>
  new Map([...args].map(([name, { value }]) => [name, plainValue(value)]))

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof JsonNumber) return Number(value.token)
  if (Array.isArray(value)) return value.map(plainValue)
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([name, member]) => [name, plainValue(member)]))
  }
  return value as Tree
}

export function ruleOf<R extends JudgedRule>(rules: readonly R[], tool: string): R {
  const found = rules.find((rule) => rule.tool === tool)
  if (found === undefined) throw new Error(`no rule ${tool}`)
  return found
}
