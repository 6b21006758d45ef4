import type { FrozenRequest } from '../../adapters/upstream/request-head.js'
import type { Header, HttpCall } from '../../core/call.js'
import type { ToolRule } from '../../core/manifest/model.js'

/** DESIGN §3: only listed headers are forwarded. A body's coding is a label that goes with its octets. */
const DEFAULT: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-encoding',
  'content-type',
  'idempotency-key',
  'traceparent',
])

/** Not even where a manifest lists them: the agent's credentials, and fields that re-route a request. */
const NEVER: ReadonlySet<string> = new Set([
  'agent-intent',
  'agent-mandate',
  'authorization',
  'gate-approval',
  'proxy-authorization',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
])

export function frozenRequest(
  call: HttpCall,
  bytes: Uint8Array,
  rule: Pick<ToolRule, 'forward_headers'>,
): FrozenRequest {
  return {
    method: call.method,
    target: call.target,
    headers: call.headers.filter((header) => forwarded(header, rule)),
    body: bytes,
  }
}

const forwarded = ([name]: Header, rule: Pick<ToolRule, 'forward_headers'>): boolean =>
  !NEVER.has(name) && (DEFAULT.has(name) || rule.forward_headers.includes(name))
