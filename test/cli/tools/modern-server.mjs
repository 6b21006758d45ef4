// A server of revision 2026-07-28 only: it refuses the handshake of those before.
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'

serveStdio(
  () => {
    const server = new McpServer(
      { name: 'modern', version: '1.0.0' },
      { capabilities: { tools: {} } },
    )
    server.registerTool(
      'add',
      {
        description: 'Adds.',
        inputSchema: z.object({ a: z.number().int().max(100), b: z.enum(['x', 'y']).optional() }),
        annotations: { readOnlyHint: true },
      },
      () => ({ content: [] }),
    )
    return server
  },
  { legacy: 'reject' },
)
