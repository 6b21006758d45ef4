import { type ApprovalDocument, argumentsOf } from '../approval/document.js'
import { fromUtf8 } from '../bytes/text.js'
import type { Octets } from '../capsule/model.js'
import type { ToolRule } from '../manifest/model.js'
import { boundHeaders } from '../manifest/route/headers.js'
import type { Args } from '../manifest/route/read-result.js'
import type { Header, ReadCall } from './call.js'
import { octetsOf } from './parts.js'

export type Described = Pick<ApprovalDocument, 'tool' | 'arguments' | 'request'>

/** A body that a person could read in one sitting; longer ones are shown by their digest. */
const READABLE_BYTES = 64 * 1024

/** The call as its approval document shows it to a human. */
export function describeCall(known: {
  readonly call: ReadCall
  readonly rule: ToolRule
  readonly args: Args
  readonly requestOctets: Octets
}): Described {
  const { call, rule } = known
  const bytes = octetsOf(call)
  return {
    tool: rule.tool,
    arguments: argumentsOf(known.args),
    request: {
      ...addressOf(call, rule),
      octets: known.requestOctets,
      body: bytes.length > READABLE_BYTES ? null : fromUtf8(bytes),
    },
  }
}

type Address = Pick<
  Described['request'],
  'method' | 'upstream' | 'target' | 'headers' | 'more' | 'definition'
>

function addressOf(call: ReadCall, rule: ToolRule): Address {
  switch (call.kind) {
    case 'function':
      return { method: null, upstream: null, target: null, headers: [] }
    case 'mcp': {
      const { server, method, name, more, definition } = call
      const beside = {
        ...(more === '' ? {} : { more: `{${more}}` }),
        ...(definition === null ? {} : { definition: definition.digest }),
      }
      return { method, upstream: server, target: name, headers: [], ...beside }
    }
    case 'http': {
      const { method, upstream, target } = call
      return { method, upstream, target, headers: shownHeaders(call.headers, rule) }
    }
  }
}

/** By name: their order among each other says nothing, so it is no difference. */
function shownHeaders(headers: readonly Header[], rule: ToolRule): Header[] {
  const names = boundHeaders(rule)
  return headers
    .filter(([name]) => names.has(name))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}
