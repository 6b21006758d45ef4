import type { McpServer } from '../../src/ports/mcp.js'
import type { OutgoingRequest, Upstream } from '../../src/ports/upstream.js'

/**
 * A gate that is broken between judgement and socket: behind the port another request is sent than the one that was
 * handed over. What is sent, and what the adapter says that it wrote, are the adapter's own.
 */
export const alteringUpstream = (
  to: Upstream,
  alter: (request: OutgoingRequest) => OutgoingRequest,
): Upstream => ({
  ...to,
  send: (request, rule, sink, control) => to.send(alter(request), rule, sink, control),
})

/** The same for the messages to an MCP server. */
export const alteringServer = (
  to: McpServer,
  alter: (octets: Uint8Array) => Uint8Array,
): McpServer => ({
  ...to,
  connect(listener) {
    const connection = to.connect(listener)
    return {
      ...connection,
      request: (sending, control) =>
        connection.request({ ...sending, octets: alter(sending.octets) }, control),
    }
  },
})
