/** A client of an MCP server on stdio: as much of the protocol as a list and a call need. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export async function openClient(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const waiting = new Map()
  let said = ''
  let ids = 0
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line)
    waiting.get(id)?.(error === undefined ? { result } : { error })
    waiting.delete(id)
  })
  const closed = once(child, 'close').then(([code]) => {
    for (const answer of waiting.values()) answer({ gone: said })
    return code
  })
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const ask = async (method, params) => {
    const id = ++ids
    const answered = new Promise((resolve) => waiting.set(id, resolve))
    send({ id, method, params })
    const { result, error, gone } = await answered
    if (result !== undefined) return result
    throw new Error(gone ?? error.message)
  }
  await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'example', version: '1.0.0' },
  })
  send({ method: 'notifications/initialized' })
  return {
    ask,
    call: (name, given, meta = {}) => ask('tools/call', { name, arguments: given, _meta: meta }),
    /** The exit code, when the other end is gone. */
    close() {
      child.stdin.end()
      return closed
    },
  }
}
