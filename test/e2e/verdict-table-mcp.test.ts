import { verdictTable } from './verdict-table.js'
import { MCP_MANIFEST, throughMcpHttp, throughMcpStdio } from './verdict-ways-mcp.js'

verdictTable({
  name: 'a wrapped MCP server',
  mount: 'mcp_stdio',
  manifest: MCP_MANIFEST,
  open: throughMcpStdio,
})
verdictTable({
  name: 'MCP over HTTP',
  mount: 'mcp_http',
  manifest: MCP_MANIFEST,
  open: throughMcpHttp,
})
