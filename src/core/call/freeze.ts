import { utf8 } from '../bytes/text.js'
import type { ToolRule } from '../manifest/model.js'
import { isForwardable } from '../manifest/route/headers.js'
import { type Agent, frozenAgent } from './agent.js'
import type { Header, ReadCall } from './call.js'
import { octetsOf } from './octets.js'

/** A call at rest: what `thaw` makes the same call of again. */
export type Frozen = { readonly head: Uint8Array; readonly body: Uint8Array }

/** The request as it would be sent, without credentials. */
export const freeze = (call: ReadCall, rule: ToolRule, agent: Agent): Frozen => ({
  head: utf8(JSON.stringify({ ...headOf(call, rule), agent: frozenAgent(agent) })),
  body: octetsOf(call),
})

function headOf(call: ReadCall, rule: ToolRule) {
  switch (call.kind) {
    case 'http':
      return {
        kind: 'http',
        method: call.method,
        upstream: call.upstream,
        target: call.target,
        headers: call.headers.filter(([name]) => isKept(name, rule)),
        tool: call.tool,
      }
    case 'function':
      return { kind: 'function', tool: call.tool }
  }
}

const isKept = (name: Header[0], { forward_headers, bind_headers }: ToolRule): boolean =>
  isForwardable(name) &&
  (name === 'content-encoding' || forward_headers.includes(name) || bind_headers.includes(name))
