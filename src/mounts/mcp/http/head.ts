import type { Header } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import { isObject } from '../../../core/json/value.js'
import type { Request } from '../../../core/mcp/message.js'
import { metaOf } from '../../../core/mcp/meta.js'
import { isModern, namedBy } from '../../../core/mcp/methods.js'
import { headerText } from '../../../core/mcp/param-headers.js'
import { CAPABILITIES, PROTOCOL_VERSION } from '../client.js'

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

/**
 * Others decide by the headers, servers by the body: where both are there they must say the same (2026-07-28,
 * Streamable HTTP, "Server Validation"). The revisions before have no such headers, and no such `_meta`.
 */
export function modernFault(
  headers: readonly Header[],
  { method, params }: Request,
): 'message_header_mismatch' | 'message_meta_missing' | null {
  const meta = metaOf(params.value)
  const version = meta.get(PROTOCOL_VERSION)
  const stated = headerOf(headers, 'mcp-protocol-version')
  const inBody = typeof version === 'string' && isModern(version)
  if (!inBody && (stated === null || !isModern(stated))) return null
  if (version === undefined || !isObject(meta.get(CAPABILITIES))) return 'message_meta_missing'
  const isOther =
    stated !== version ||
    headerOf(headers, 'mcp-method') !== method ||
    REPEATED.some((name) => headers.filter(([found]) => found === name).length > 1) ||
    isOtherName(headerOf(headers, 'mcp-name'), method, params)
  return isOther ? 'message_header_mismatch' : null
}
const REPEATED = ['mcp-method', 'mcp-name', 'mcp-protocol-version']

function isOtherName(name: string | null, method: string, { value }: Request['params']): boolean {
  const member = namedBy(method)
  if (member === null) return false
  const meant = value.get(member)
  return typeof meant === 'string' && (name === null || headerText(name) !== meant)
}

/** Arguments that the request repeats in its head. */
export const paramsIn = (headers: readonly Header[]): readonly Header[] =>
  headers.filter(([name]) => name.startsWith('mcp-param-'))
