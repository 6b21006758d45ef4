import { verdictTable } from './verdict-table.js'
import { MCP_MANIFEST, throughMcpHttp, throughMcpStdio } from './verdict-ways-mcp.js'

const unreadable = 'a message is strict JSON or none at all: request_malformed'

verdictTable({
  name: 'a wrapped MCP server',
  mount: 'mcp_stdio',
  manifest: MCP_MANIFEST,
  unreachable: { body_unreadable: unreadable },
  open: throughMcpStdio,
})
verdictTable({
  name: 'MCP over HTTP',
  mount: 'mcp_http',
  manifest: MCP_MANIFEST,
  unreachable: { body_unreadable: unreadable },
  open: throughMcpHttp,
})
