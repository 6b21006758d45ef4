import { utf8 } from '../bytes/text.js'
import { irreversibility } from '../capsule/shapes.js'
import { committed } from '../intent/model.js'
import { parse } from '../json/parse.js'
import {
  anyText,
  digest as digestShape,
  either,
  flag,
  list,
  nullable,
  only,
  optional,
  read,
  record,
  tuple,
} from '../json/shape.js'
import { toPlain } from '../json/value.js'
import type { ToolRule } from '../manifest/model.js'
import { isForwardable } from '../manifest/route/headers.js'
import { type Agent, agent, frozenAgent } from './agent.js'
import type { Header, ReadCall } from './call.js'
import { octetsOf } from './parts.js'

/** A call at rest: what `thaw` makes the same call of again. */
export type Frozen = { readonly head: Uint8Array; readonly body: Uint8Array }

/** The request as it would be sent, without credentials. */
export const freeze = (call: ReadCall, rule: ToolRule, agent: Agent): Frozen => ({
  head: utf8(
    JSON.stringify({ ...headOf(call, rule), ...committedOf(call), agent: frozenAgent(agent) }),
  ),
  body: octetsOf(call),
})

function headOf(call: ReadCall, rule: ToolRule) {
  switch (call.kind) {
    case 'function':
      return { kind: 'function', tool: call.tool }
    case 'mcp': {
      const { kind, server, method, name, more, meta, definition } = call
      return { kind, server, method, name, more, meta, definition }
    }
    case 'http':
      return {
        kind: 'http',
        method: call.method,
        upstream: call.upstream,
        target: call.target,
        headers: call.headers.filter(([name]) => isKept(name, rule)),
        tool: call.tool,
      }
  }
}

/** What was declared stays with the call once it is on record; what was only carried holds a credential. */
function committedOf({ declared }: ReadCall) {
  if (declared?.kind !== 'committed') return {}
  const { kind: _, ...committed } = declared
  return { committed }
}

const isKept = (name: Header[0], { forward_headers, bind_headers }: ToolRule): boolean =>
  isForwardable(name) &&
  (name === 'content-encoding' || forward_headers.includes(name) || bind_headers.includes(name))

/** What heads of every kind have beside the request. */
const kept = { agent, committed: optional(committed) }

const head = either(
  ({ kind }) => kind === 'http',
  record({
    kind: only('http'),
    method: anyText,
    upstream: anyText,
    target: anyText,
    headers: list(tuple(anyText, anyText)),
    tool: nullable(anyText),
    ...kept,
  }),
  either(
    ({ kind }) => kind === 'mcp',
    record({
      kind: only('mcp'),
      server: anyText,
      method: anyText,
      name: nullable(anyText),
      more: anyText,
      meta: anyText,
      definition: nullable(record({ digest: digestShape, hinted: irreversibility, trusted: flag })),
      ...kept,
    }),
    record({ kind: only('function'), tool: anyText, ...kept }),
  ),
)

/**
 * The call as it was frozen, to be run for the approval it waited for, and who had made it. Null where
 * the head is not what `freeze` writes: nothing is sent of a call that cannot be read whole.
 */
export function thaw(
  frozen: Frozen,
  approvalId: string,
): { readonly call: ReadCall; readonly agent: Agent } | null {
  const parsed = parse(frozen.head)
  const got = parsed.ok ? read(head, toPlain(parsed.value)) : null
  if (!got?.ok) return null
  const { committed, agent, ...sent } = got.value
  const common = {
    caller: { bearer: null, certificate: null, asserted: null, source: 'approval' },
    idempotencyKey: null,
    approvalId,
    waitSeconds: 0,
    ...(committed === undefined ? {} : { declared: { kind: 'committed', ...committed } as const }),
  }
  const body = { kind: 'read', bytes: frozen.body } as const
  switch (sent.kind) {
    case 'function': {
      const { kind, tool } = sent
      return { call: { kind, tool, argumentsJson: frozen.body, ...common }, agent }
    }
    case 'mcp':
      return { call: { ...sent, body, ...common }, agent }
    case 'http': {
      const { kind, method, upstream, target, headers, tool } = sent
      return { call: { kind, method, upstream, target, headers, tool, body, ...common }, agent }
    }
  }
}
