import type { FrozenRequest } from '../../adapters/upstream/request-head.js'
import type { HttpCall } from '../../core/call.js'
import { isForwardable } from '../../core/manifest/headers.js'
import type { ToolRule } from '../../core/manifest/model.js'

/** The judged request as it goes out: only the headers the rule lists (DESIGN §3). */
export function frozenRequest(
  call: HttpCall,
  bytes: Uint8Array,
  rule: Pick<ToolRule, 'forward_headers'>,
): FrozenRequest {
  return {
    method: call.method,
    target: call.target,
    headers: call.headers.filter(([name]) => isForwarded(name, rule)),
    body: bytes,
  }
}

/** A body's coding is a label that goes with its octets: without it they would be other octets. */
const isForwarded = (name: string, rule: Pick<ToolRule, 'forward_headers'>): boolean =>
  name === 'content-encoding' || (rule.forward_headers.includes(name) && isForwardable(name))
