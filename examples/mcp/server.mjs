/** A payments server that speaks MCP on stdin and stdout: one JSON-RPC message a line. It knows nothing of the gate. */
import { createInterface } from 'node:readline'

const text = { type: 'string' }
const TOOLS = [
  {
    name: 'find_order',
    description: 'Looks an order up.',
    inputSchema: { type: 'object', properties: { order: text }, required: ['order'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'create_refund',
    description: 'Pays money of an order back.',
    inputSchema: {
      type: 'object',
      properties: { order: text, currency: text, amount: text },
      required: ['order', 'currency', 'amount'],
    },
  },
  {
    name: 'delete_customer',
    description: 'Deletes a customer and all orders.',
    inputSchema: { type: 'object', properties: { customer: text }, required: ['customer'] },
  },
]
const answers = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'payments', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name, arguments: given }) => ({
    content: [{ type: 'text', text: `${name} done: ${JSON.stringify(given)}` }],
  }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const said =
    answer === undefined
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: answer(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
})
