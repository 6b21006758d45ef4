import type { Header } from '../../../core/call/call.js'
import { isModern } from '../../../core/mcp/methods.js'
import type { McpHead } from '../../../ports/mcp.js'

/** The head of one message (MCP Streamable HTTP). The upstream's credential is added by the upstream itself. */
export function messageHeaders(head: McpHead, session: string | null): readonly Header[] {
  const { method, name, protocolVersion, params } = head
  const headers: Header[] = [
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
    ...sessionHeaders(protocolVersion, session),
  ]
  // Older servers do not know them.
  if (protocolVersion === null || !isModern(protocolVersion)) return headers
  if (method !== null) headers.push(['mcp-method', method])
  if (name !== null) headers.push(['mcp-name', headerValue(name)])
  for (const [param, value] of params) headers.push([param, headerValue(value)])
  return headers
}

/** Of a stream that the server fills by itself, or on which it goes on. */
export const streamHeaders = (
  protocolVersion: string | null,
  session: string | null,
  lastEventId: string | null,
): readonly Header[] => [
  ['accept', 'text/event-stream'],
  ...sessionHeaders(protocolVersion, session),
  ...(lastEventId === null ? [] : [['last-event-id', lastEventId] as const]),
]

export const sessionHeaders = (
  protocolVersion: string | null,
  session: string | null,
): readonly Header[] => [
  ...(protocolVersion === null ? [] : [['mcp-protocol-version', protocolVersion] as const]),
  ...(session === null ? [] : [['mcp-session-id', session] as const]),
]

const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
const ENCODED = /^=\?base64\?.*\?=$/

/** As it is, or in base64 where a header could not carry it, or where it looks as if it were in base64. */
export const headerValue = (value: string): string =>
  PLAIN.test(value) && !ENCODED.test(value)
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`

const SESSION = /^[\x21-\x7e]{1,1024}$/

/** The session that a server has opened; null where it has none, or names one that cannot be sent back. */
export function sessionOf(headers: readonly Header[]): string | null {
  const named = headers.filter(([name]) => name === 'mcp-session-id')
  const session = named.length === 1 ? named[0]?.[1] : undefined
  return session !== undefined && SESSION.test(session) ? session : null
}
