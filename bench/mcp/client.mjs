import { spawn } from 'node:child_process'
import { once } from 'node:events'

const NOTE = 'n'.repeat(934)
let orders = 0

/** A client of a server on stdio, one request at a time; as little of the protocol as a call needs. */
export async function openClient(command, args, env) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  let rest = ''
  let ids = 0
  let answered = () => {}
  let failed = () => {}
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const message = JSON.parse(line)
      if (message.id === ids) answered(message)
    }
  })
  child.once('exit', (code) => failed(new Error(`a server of the bench ended with ${code}`)))
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      answered = resolve
      failed = reject
      const message = { jsonrpc: '2.0', id: ++ids, method, params }
      child.stdin.write(`${JSON.stringify(message)}\n`)
    })
  await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

  /** The milliseconds that each call took, and how many did not succeed. */
  async function calls(ms) {
    const until = performance.now() + ms
    const times = []
    let bad = 0
    while (performance.now() < until) {
      const cents = 10_000 + ((orders * 7919) % 29_999)
      const given = {
        order: `a-${String(orders++).padStart(7, '0')}`,
        currency: 'EUR',
        amount: `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`,
        note: NOTE,
      }
      const sent = performance.now()
      const { result } = await ask('tools/call', { name: 'pay', arguments: given })
      times.push(performance.now() - sent)
      if (result === undefined || result.isError === true) bad++
    }
    times.sort((a, b) => a - b)
    const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))]
    return { p50: at(0.5), p99: at(0.99), calls: times.length, bad }
  }

  return {
    calls,
    async close() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}
