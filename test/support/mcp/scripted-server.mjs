/**
 * An MCP server on stdio that does what a call asks of it. Every line it receives is appended to the file named
 * first: what stands there was sent, whatever the gate remembers. The words behind it change how it lives.
 */
import { appendFileSync, writeFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [log, ...habits] = process.argv.slice(2)
writeFileSync(`${log}.pid`, String(process.pid))
const has = (habit) => habits.includes(habit)
const writeAll = (fd, text) => {
  const octets = Buffer.from(text)
  for (let at = 0; at < octets.length; ) {
    try {
      at += writeSync(fd, octets, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}
const write = (text) => writeAll(1, `${text}\n`)
const say = (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message }))
const text = (words, more = {}) => ({ content: [{ type: 'text', text: words }], ...more })

if (has('exits')) process.exit(Number(habits[habits.indexOf('exits') + 1]))
if (has('ignores SIGTERM')) process.on('SIGTERM', () => writeAll(2, 'SIGTERM ignored\n'))
if (has('tells SIGTERM')) {
  process.on('SIGTERM', () => {
    appendFileSync(log, 'SIGTERM\n')
    process.exit(0)
  })
}
if (has('prints garbage')) write('Server started!\n\n[1,2]\n{"jsonrpc":"2.0"}\nnot json')

const NAMES = ['echo', 'wait', 'hang', 'exit', 'die', 'env', 'garbage', 'flood', 'big', 'who']
const described = (name) => (has('describes otherwise') ? `${name}!` : name)
const TOOLS = NAMES.map((name) => ({
  name,
  description: described(name),
  inputSchema: { type: 'object' },
}))

const CALLS = {
  echo: (args) => text(JSON.stringify(args)),
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, text('waited'))),
  hang: () => new Promise(() => {}),
  exit: ({ code }) => process.exit(code),
  die: ({ signal }) => {
    process.kill(process.pid, signal)
    return new Promise(() => {})
  },
  env: () => text(JSON.stringify(process.env)),
  garbage: () => {
    write('half a line of words\n{"jsonrpc":"2.0","id":\n[]\n\u0000')
    return text('behind garbage')
  },
  flood: ({ lines }) => {
    for (let n = 0; n < lines; n++) writeAll(2, `${'x'.repeat(1023)}\n`)
    return text('flooded')
  },
  big: ({ size }) => text('b'.repeat(size)),
  who: () => text(String(process.pid)),
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    appendFileSync(log, `${line}\n`)
    const { id, method, params = {} } = JSON.parse(line)
    if (id === undefined || method === undefined) return
    if (method === 'initialize') {
      if (has('is slow to begin')) await new Promise((resolve) => setTimeout(resolve, 600))
      const { protocolVersion } = params
      const serverInfo = { name: 'scripted', version: '1' }
      say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } })
    } else if (method === 'tools/list') say({ id, result: { tools: TOOLS } })
    else if (method === 'ping') say({ id, result: {} })
    else if (method === 'tools/call' && params.name in CALLS) {
      say({ id, result: await CALLS[params.name](params.arguments ?? {}) })
    } else say({ id, error: { code: -32601, message: `no ${method}` } })
  })
  .on('close', () => {
    if (!has('ignores EOF')) process.exit(Number(process.env.EXIT_CODE ?? 0))
    setInterval(() => {}, 1 << 30)
  })
