// A server that does one thing of its own, by name; everything else as servers do it.
import { createInterface } from 'node:readline'

const [, , way = 'plain'] = process.argv
const tool = (name) => ({ name, inputSchema: { type: 'object', properties: {} } })
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const result = (id, value) => say({ id, result: value })
let lists = 0
let held = null

/** Page by page: the cursor is the number of the page. */
function list(id, cursor) {
  lists++
  if (way === 'pages') {
    const page = Number(cursor ?? 0)
    return result(id, { tools: [tool(`t${page}`)], ...(page < 3 && { nextCursor: `${page + 1}` }) })
  }
  if (way === 'loops') return result(id, { tools: [tool(`t${lists}`)], nextCursor: 'again' })
  if (way === 'changes') {
    result(id, { tools: lists === 1 ? [tool('early')] : [tool('early'), tool('late')] })
    if (lists === 1) say({ method: 'notifications/tools/list_changed' })
    return
  }
  if (way === 'asks' && held === null) {
    held = id
    say({ id: 's1', method: 'roots/list' })
    say({ id: 's2', method: 'ping' })
    say({ id: 's3', method: 'sampling/createMessage', params: {} })
    return
  }
  if (way === 'floods') return process.stdout.write('x'.repeat(17 * 1024 * 1024))
  if (way === 'no-list') return result(id, { instead: true })
  if (way === 'refuses-list') return say({ id, error: { code: -32603, message: 'out of order' } })
  if (way === 'forges') {
    say({ id: 77, result: { tools: [tool('forged')] } })
    say({ id: `${id}`, result: { tools: [tool('forged')] } })
    process.stdout.write('{"jsonrpc":"2.0","id":2,"id":2,"result":{"tools":[]}}\n')
  }
  if (way === 'twice') process.stdout.write('Listening…\n\n')
  result(id, { tools: [tool('only')] })
  if (way === 'twice') result(id, { tools: [tool('second')] })
}

const answers = new Map()
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, ...rest } = JSON.parse(line)
  if (method === undefined) {
    answers.set(id, 'error' in rest ? rest.error.code : JSON.stringify(rest.result))
    if (answers.size === 3) result(held, { tools: [tool([...answers.values()].join('_'))] })
    return
  }
  switch (method) {
    case 'initialize':
      if (way === 'leaves') {
        process.stderr.write('no \u001b[31mlicence\n')
        process.exit(3)
      }
      if (way === 'neither') return say({ id, error: { code: -32601, message: 'not this' } })
      return result(id, {
        protocolVersion: '2024-11-05',
        capabilities: { tools: { listChanged: way === 'changes' } },
      })
    case 'server/discover':
      return say({ id, error: { code: -32601, message: 'nor that' } })
    case 'tools/list':
      return list(id, params?.cursor)
  }
})
// Some servers do not go when their input ends.
if (way === 'stays') setInterval(() => {}, 1_000)
