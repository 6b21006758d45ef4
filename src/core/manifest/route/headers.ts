import { oncePer } from '../../memo.js'
import type { ToolRule } from '../model.js'

/** DESIGN §3: only listed headers are forwarded. */
export const FORWARDED_BY_DEFAULT = [
  'content-type',
  'accept',
  'accept-language',
  'idempotency-key',
  'traceparent',
] as const

/** Fields by which frameworks take another method or path than the one that was judged. */
export const OVERRIDE_HEADERS: readonly string[] = [
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
]

const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** Framing, credentials and the gate's own. */
const NEVER =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|expect|cookie2?|authorization|proxy-.*|gate-.*|agent-intent|agent-mandate|dpop|prefer)$/

export const isForwardable = (name: string): boolean =>
  HEADER.test(name) && !NEVER.test(name) && !OVERRIDE_HEADERS.includes(name)

/** These differ between sendings of one and the same request, so a rule binds them only if it names them. */
const PER_SENDING = /^(?:traceparent|tracestate|baggage|b3|x-b3-.*|idempotency-key)$/

type HeaderRule = Pick<ToolRule, 'forward_headers' | 'bind_headers'>

/** Names of the headers that the request digest binds and an approver is shown: all that are forwarded. */
export const boundHeaders = oncePer(
  ({ forward_headers, bind_headers }: HeaderRule): ReadonlySet<string> =>
    new Set([
      ...['content-encoding', ...forward_headers].filter(
        (name) => isForwardable(name) && !PER_SENDING.test(name),
      ),
      ...bind_headers.filter(isForwardable),
    ]),
)
