import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach } from '@jest/globals'
import { createStdioServer, type StdioServerOptions } from '../../../src/adapters/stdio/server.js'
import { requestOctets } from '../../../src/core/mcp/message.js'
import type {
  McpControl,
  McpEnd,
  McpFault,
  McpHead,
  McpReceived,
  McpReport,
  McpSending,
} from '../../../src/ports/mcp.js'

const SERVER = join(import.meta.dirname, 'server.mjs')
export const HEAD: McpHead = { method: null, name: null, protocolVersion: null, params: [] }
export const FREELY: McpControl = { stillAllowed: () => true, totalMs: 0 }

export const sending = (id: number, params = '{}'): McpSending => ({
  id,
  octets: requestOctets(id, 'tools/call', params),
  head: HEAD,
})
export const text = (octets: Uint8Array): string => Buffer.from(octets).toString()

export function messageOf(received: McpReceived): Extract<McpReceived, { kind: 'message' }> {
  if (received.kind !== 'message') throw new Error(`no message: ${JSON.stringify(received)}`)
  return received
}
export function noneOf(received: McpReceived) {
  if (received.kind !== 'none') throw new Error(`a message: ${text(received.octets)}`)
  return received.observation
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** What the other side said, and a way to wait until it has said something. */
export function open(mode: string, over: Partial<StdioServerOptions> = {}, ...args: string[]) {
  const messages: string[] = []
  const faults: McpFault[] = []
  const reports: McpReport[] = []
  const waiting: (() => void)[] = []
  let stderr = ''
  const heard = (): void => {
    for (const wake of waiting.splice(0)) wake()
  }
  const server = createStdioServer({
    name: 'test',
    command: process.execPath,
    args: [SERVER, mode, ...args],
    env: {},
    maxMessageBytes: 1 << 20,
    stderr: (chunk) => {
      stderr += text(chunk)
      heard()
    },
    report: (report) => reports.push(report),
    ...over,
  })
  let ended: (end: McpEnd) => void = () => {}
  const closed = new Promise<McpEnd>((resolve) => {
    ended = resolve
  })
  let closes = 0
  const connection = server.connect({
    message: (octets) => {
      messages.push(text(octets))
      heard()
    },
    fault: (fault) => {
      faults.push(fault)
      heard()
    },
    closed: (end) => {
      closes++
      ended(end)
      heard()
    },
  })
  closing.push(async () => {
    connection.kill('SIGKILL')
    await server.close()
  })
  return {
    server,
    connection,
    messages,
    faults,
    reports,
    closed,
    closes: () => closes,
    stderr: () => stderr,
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    ask: (id: number, params?: string, control: McpControl = FREELY) =>
      connection.request(sending(id, params), control),
  }
}

/** Dead, or dead and not yet buried. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Ends what is still there after a while, so that a failing test leaves nothing behind either. */
export async function isGone(pid: number): Promise<boolean> {
  const until = performance.now() + 10_000
  while (isAlive(pid)) {
    if (performance.now() > until) {
      process.kill(pid, 'SIGKILL')
      return false
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return true
}
