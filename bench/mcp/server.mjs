/** An MCP server on stdio with one tool, which answers 1 KB to anything; as little of the protocol as a call needs. */
const TOOL = {
  name: 'pay',
  description: 'Pays.',
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      ['order', 'currency', 'amount', 'note'].map((name) => [name, { type: 'string' }]),
    ),
  },
}
const RESULTS = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  },
  'tools/list': { tools: [TOOL] },
  'tools/call': { content: [{ type: 'text', text: 'x'.repeat(1000) }] },
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, method } = JSON.parse(line)
    const result = RESULTS[method]
    if (id === undefined || result === undefined) continue
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
  }
})
process.stdin.on('end', () => process.exit())
