import type { Header } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import type { Request } from '../../../core/mcp/message.js'
import { metaOf } from '../../../core/mcp/meta.js'
import { isModern } from '../../../core/mcp/methods.js'
import { headerText } from '../../../core/mcp/param-headers.js'
import { PROTOCOL_VERSION } from '../client.js'

/** The first value of a header; null where it is not there. */
export const headerOf = (headers: readonly Header[], wanted: string): string | null =>
  headers.find(([name]) => name === wanted)?.[1] ?? null

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]+)?$/i

/**
 * A page of another site must not reach a server on this machine through the browser of its user (DNS
 * rebinding): on a loopback listener only its own names are served, and an Origin is the host's own.
 */
export function siteFault(headers: readonly Header[], loopback: boolean): Malformed | null {
  const host = headerOf(headers, 'host') ?? ''
  if (loopback && !LOOPBACK.test(host)) return 'host_foreign'
  const origin = headerOf(headers, 'origin')
  if (origin === null) return null
  const own = URL.canParse(origin) ? new URL(origin).host : null
  return own === host.toLowerCase() ? null : 'origin_foreign'
}

/** What a method repeats in `Mcp-Name`. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/**
 * Others decide by the headers, servers by the body: where both are there they must say the same (2026-07-28,
 * Streamable HTTP, "Server Validation"). The revisions before have no such headers.
 */
export function headerMismatch(headers: readonly Header[], { method, params }: Request): boolean {
  const version = metaOf(params.value).get(PROTOCOL_VERSION)
  const stated = headerOf(headers, 'mcp-protocol-version')
  const modern =
    (typeof version === 'string' && isModern(version)) || (stated !== null && isModern(stated))
  if (!modern) return false
  if (stated !== version || headerOf(headers, 'mcp-method') !== method) return true
  const twice = ['mcp-method', 'mcp-name', 'mcp-protocol-version'].some(
    (name) => headers.filter(([found]) => found === name).length > 1,
  )
  if (twice) return true
  const member = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  if (member === undefined) return false
  const name = headerOf(headers, 'mcp-name')
  return name === null || headerText(name) !== params.value.get(member)
}
