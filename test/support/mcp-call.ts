import { utf8 } from '../../src/core/bytes/text.js'
import type { ReadMcpCall } from '../../src/core/call/call.js'

/** A call as an MCP mount reads it; `given` are its arguments, as text or to be written as JSON. */
export const mcpCall = (
  server: string,
  method: string,
  name: string | null,
  given: unknown = undefined,
  more: Partial<ReadMcpCall> = {},
): ReadMcpCall => ({
  kind: 'mcp',
  server,
  method,
  name,
  body: {
    kind: 'read',
    bytes: utf8(
      given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given),
    ),
  },
  more: '',
  meta: '',
  definition: null,
  caller: { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' },
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
  ...more,
})

export const toolCall = (server: string, tool: string, given?: unknown): ReadMcpCall =>
  mcpCall(server, 'tools/call', tool, given)
