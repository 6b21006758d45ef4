import { PassThrough } from 'node:stream'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createStdioServer } from '../../../src/adapters/stdio/server.js'
import { DEFAULT_TERMS, servedAs } from '../../../src/app/mcp/served.js'
import type { RunningGate } from '../../../src/app/open-gate.js'
import type { Caller } from '../../../src/core/call/call.js'
import { Lines } from '../../../src/core/mcp/lines.js'
import { backgroundOver } from '../../../src/mounts/mcp/call/background.js'
import { createSession } from '../../../src/mounts/mcp/session.js'
import { openWire, serveWire } from '../../../src/mounts/mcp/stdio.js'
import { LINK, MESSAGE_BYTES, SERVER } from './messages.js'

/** A client on two pipes with a wrapped command: its own session, its own process. */
export type LineClient = {
  /** The answer to this id; null where the call was taken back before one came. */
  ask(id: number, text: string): Promise<string | null>
  /** The next answer that names no request. */
  askUnread(text: string): Promise<string>
  /** Resolves when the gate has read it. */
  tell(text: string): Promise<void>
  /** Takes the request back; resolves when the gate has seen that. */
  cancel(id: number): Promise<void>
  close(): Promise<void>
}

export async function lineClient(
  gate: RunningGate,
  command: { readonly command: string; readonly args: readonly string[] },
  caller: Caller,
): Promise<LineClient> {
  const to = createStdioServer({
    name: SERVER,
    ...command,
    env: {},
    maxMessageBytes: MESSAGE_BYTES,
    stderr: () => undefined,
    report: gate.report,
  })
  const served = servedAs(SERVER, DEFAULT_TERMS, to)
  await gate.dispatchApproved(backgroundOver(new Map([[SERVER, served]]), gate))
  const [input, output] = [new PassThrough(), new PassThrough()]
  const wire = openWire(input, output, MESSAGE_BYTES)
  const session = createSession(
    served,
    { send: (octets) => void wire.offer(octets) },
    { gate, hashing: nodeCrypto, messageBytes: MESSAGE_BYTES, approvalLink: LINK },
  )
  const sender = { caller, identified: await gate.identify(caller) }
  const { idle } = serveWire(wire, session, sender, { gate })
  const waiting = new Map<number, (text: string | null) => void>()
  const unread: ((text: string) => void)[] = []
  const lines = new Lines(MESSAGE_BYTES, (octets) => {
    const text = Buffer.from(octets).toString('utf8')
    const { id, method } = JSON.parse(text) as { id?: number; method?: string }
    if (method !== undefined) return
    if (id === undefined) unread.shift()?.(text)
    else waiting.get(id)?.(text)
    if (id !== undefined) waiting.delete(id)
  })
  output.on('data', (piece: Buffer) => lines.push(piece))
  let seen = 1_000_000

  const ask = (id: number, text: string): Promise<string | null> =>
    new Promise((resolve) => {
      waiting.set(id, resolve)
      input.write(`${text}\n`)
    })
  /** What comes after it on the pipe is read after it. */
  const tell = async (text: string): Promise<void> => {
    input.write(`${text}\n`)
    const id = ++seen
    await ask(id, `{"jsonrpc":"2.0","id":${id},"method":"dev.capsulegate/actions/get"}`)
  }
  return {
    ask,
    askUnread: (text) =>
      new Promise((resolve) => {
        unread.push(resolve)
        input.write(`${text}\n`)
      }),
    tell,
    async cancel(id) {
      const params = { requestId: id, reason: 'not needed' }
      await tell(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
      waiting.get(id)?.(null)
      waiting.delete(id)
    },
    async close() {
      input.end()
      await session.close()
      await to.close()
      await idle()
    },
  }
}
