import type { McpServer } from '../../../ports/mcp.js'
export const createHttpMcpServer = (_: object): McpServer => {
  throw new Error('stub')
}
