import type { FrozenRequest } from '../../adapters/upstream/request-head.js'
import type { Header, HttpCall } from '../../core/call.js'
import { isForwardable } from '../../core/manifest/headers.js'
import type { ToolRule } from '../../core/manifest/model.js'

type ForwardRule = Pick<ToolRule, 'forward_headers'>

/** The judged request as it goes out: only the headers the rule lists (DESIGN §3). */
export function frozenRequest(call: HttpCall, bytes: Uint8Array, rule: ForwardRule): FrozenRequest {
  const forwarded = forwardedBy(rule)
  const headers: Header[] = []
  for (const header of call.headers) if (forwarded.has(header[0])) headers.push(header)
  return { method: call.method, target: call.target, headers, body: bytes }
}

/** Worked out once per rule: rules outlive calls. */
const known = new WeakMap<ForwardRule, ReadonlySet<string>>()

function forwardedBy(rule: ForwardRule): ReadonlySet<string> {
  let names = known.get(rule)
  if (names === undefined) {
    // A body's coding is a label that goes with its octets: without it they would be other octets.
    names = new Set(['content-encoding', ...rule.forward_headers.filter(isForwardable)])
    known.set(rule, names)
  }
  return names
}
