import { parse } from '../json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { type Agent, listOf, readAgent } from './agent.js'
import type { Header, ReadCall } from './call.js'
import type { Frozen } from './freeze.js'

/**
 * The call as it was frozen, to be run for the approval it waited for, and who had made it. Null where
 * the head is not what `freeze` writes: nothing is sent of a call that cannot be read whole.
 */
export function thaw(
  { head, body }: Frozen,
  approvalId: string,
): { readonly call: ReadCall; readonly agent: Agent } | null {
  const parsed = parse(head)
  if (!parsed.ok || !isObject(parsed.value)) return null
  const agent = readAgent(parsed.value.get('agent'))
  const call = callOf(parsed.value, body, approvalId)
  return agent === null || call === null ? null : { call, agent }
}

function callOf(head: JsonObject, body: Uint8Array, approvalId: string): ReadCall | null {
  const common = {
    caller: { bearer: null, certificate: null, asserted: null, source: 'approval' },
    idempotencyKey: null,
    approvalId,
    waitSeconds: 0,
  }
  const kind = head.get('kind')
  const tool = head.get('tool')
  switch (kind) {
    case 'http': {
      const [method, upstream, target] = ['method', 'upstream', 'target'].map((n) => head.get(n))
      const headers = listOf(head.get('headers'), readHeader)
      if (typeof method !== 'string' || typeof upstream !== 'string') return null
      if (typeof target !== 'string' || headers === null) return null
      if (typeof tool !== 'string' && tool !== null) return null
      const read = { kind: 'read', bytes: body } as const
      return { kind, method, upstream, target, headers, tool, body: read, ...common }
    }
    case 'function':
      return typeof tool === 'string' ? { kind, tool, argumentsJson: body, ...common } : null
    default:
      return null
  }
}

function readHeader(value: JsonValue): Header | null {
  if (!isArray(value) || value.length !== 2) return null
  const [name, text] = value
  return typeof name === 'string' && typeof text === 'string' ? [name, text] : null
}
