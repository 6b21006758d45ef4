import type { McpConnection, McpListener, McpReport, McpServer } from '../../ports/mcp.js'
import { openConnection } from './connection.js'

/** An MCP server as a child process: each connection starts one of its own. */
export type StdioServerOptions = {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string | undefined
  /** All of it: nothing of the gate's own environment is added. */
  readonly env: Readonly<Record<string, string>>
  /** Longer messages of the server end the connection. */
  readonly maxMessageBytes: number
  /** What the server says on stderr, within limits; MUST NOT throw. */
  readonly stderr: (chunk: Uint8Array) => void
  readonly report: (report: McpReport) => void
}
export type StdioConnection = McpConnection & {
  /** To the process and all that it started. */
  kill(signal: NodeJS.Signals): void
}
export type StdioServer = Omit<McpServer, 'connect'> & {
  connect(listener: McpListener): StdioConnection
}

export function createStdioServer(options: StdioServerOptions): StdioServer {
  const open = new Set<StdioConnection>()
  let closing = false
  return {
    name: options.name,
    connect(listener) {
      if (closing) return refused(listener)
      const connection = openConnection(options, {
        ...listener,
        closed(end) {
          open.delete(connection)
          listener.closed(end)
        },
      })
      open.add(connection)
      return connection
    },
    async close() {
      closing = true
      await Promise.all(Array.from(open, (connection) => connection.close()))
    },
  }
}

function refused(listener: McpListener): StdioConnection {
  process.nextTick(() => listener.closed({ why: 'server_closed' }))
  const observation = { kind: 'not_sent', cause: 'server_closed', deadline: false } as const
  return {
    request: async () => ({ kind: 'none', observation }),
    tell() {},
    kill() {},
    async close() {},
  }
}
