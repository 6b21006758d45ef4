import type { ToolRule } from '../manifest/model.js'
import { isForwardable } from '../manifest/route/headers.js'
import { oncePer } from '../memo.js'
import type { Header, ReadCall } from './call.js'

type ForwardRule = Pick<ToolRule, 'forward_headers'>

/** A judged request as it goes out over HTTP, and to which upstream. */
export type Outgoing = {
  readonly upstream: string
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

/** Only the headers the rule lists (DESIGN §3). Null: the call does not go out over HTTP. */
export function outgoing(call: ReadCall, rule: ForwardRule): Outgoing | null {
  if (call.kind !== 'http') return null
  const forwarded = forwardedBy(rule)
  const headers: Header[] = []
  for (const header of call.headers) if (forwarded.has(header[0])) headers.push(header)
  const { upstream, method, target } = call
  return { upstream, method, target, headers, body: call.body.bytes }
}

/** A body's coding is a label that goes with its octets: without it they would be other octets. */
const forwardedBy = oncePer(
  ({ forward_headers }: ForwardRule): ReadonlySet<string> =>
    new Set(['content-encoding', ...forward_headers.filter(isForwardable)]),
)
