import { notSent } from '../../../ports/dispatch.js'
import type { McpConnection, McpReport, McpServer } from '../../../ports/mcp.js'
import type { Upstream } from '../../../ports/upstream.js'
import { none } from './conclude.js'
import { openConnection } from './connection.js'

/** An MCP server behind Streamable HTTP, all its revisions: a connection is a session where the server has them. */
export type HttpMcpServerOptions = {
  readonly name: string
  /** The endpoint; its origin is the upstream's. */
  readonly url: string
  /** Made for this server alone, and closed with it. `holdLimit: 0` spares it reading each answer a second time. */
  readonly upstream: Upstream
  /** Longer messages of the server are cut. */
  readonly maxMessageBytes: number
  readonly report: (report: McpReport) => void
}

export function createHttpMcpServer(options: HttpMcpServerOptions): McpServer {
  const { pathname, search } = new URL(options.url)
  const target = `${pathname}${search}`
  const open = new Set<McpConnection>()
  let closing = false
  return {
    name: options.name,
    connect(listener) {
      if (closing) {
        process.nextTick(() => listener.closed({ why: 'server_closed' }))
        return CLOSED
      }
      const opened = openConnection({ ...options, target }, listener)
      const connection: McpConnection = {
        ...opened,
        async close() {
          await opened.close()
          open.delete(connection)
        },
      }
      open.add(connection)
      return connection
    },
    async close() {
      closing = true
      await Promise.all(Array.from(open, (connection) => connection.close()))
      await options.upstream.close()
    },
  }
}

const CLOSED: McpConnection = {
  request: async () => none(notSent('server_closed')),
  tell() {},
  async close() {},
}
