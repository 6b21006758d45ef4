import { parse } from '../json/parse.js'
import { isObject } from '../json/value.js'
import type { McpCall, ReadCall } from './call.js'

/** What the octets of a kept request were sent to, and as what: without it they cannot be read. */
export type CapturedHead = {
  readonly method: string
  readonly target: string
  /** Null when there was none, or not exactly one. */
  readonly content_type: string | null
}

/** What an MCP call was about. */
type CapturedMessage = Pick<McpCall, 'server' | 'method' | 'name' | 'more'>

/** The head that `capture: full` keeps beside the octets; a function's arguments need none. */
export function capturedHead(call: ReadCall): CapturedHead | CapturedMessage | null {
  switch (call.kind) {
    case 'function':
      return null
    case 'mcp': {
      const { server, method, name, more } = call
      return { server, method, name, more }
    }
    case 'http': {
      const { method, target } = call
      const [type, second] = call.headers.filter(([name]) => name === 'content-type')
      return { method, target, content_type: second === undefined ? (type?.[1] ?? null) : null }
    }
  }
}

/** The head of a request over HTTP as `capture: full` kept it; null where the octets are no such head. */
export function readCapturedHead(bytes: Uint8Array): CapturedHead | null {
  const parsed = parse(bytes)
  if (!parsed.ok || !isObject(parsed.value)) return null
  const [method, target] = [parsed.value.get('method'), parsed.value.get('target')]
  const type = parsed.value.get('content_type')
  if (typeof method !== 'string' || typeof target !== 'string') return null
  return { method, target, content_type: typeof type === 'string' ? type : null }
}
