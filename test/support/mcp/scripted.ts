import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** What the scripted server does with the next calls of its tools. */
export type Manner =
  | 'answers'
  | 'says_is_error'
  | 'says_bad_params'
  | 'says_error'
  | 'dies'
  | 'is_silent'
  | 'wants_input'
  /** Of a task: the call is done, and its result is asked for later. */
  | 'gives_a_task'
  /** Answers, and refuses to say which tools it has. */
  | 'lists_nothing'
export type Scripted = {
  manner: Manner
  description: string
  /** Text of the tools' answers. */
  text: string
  /** The calls that reached it, as it read them. */
  readonly calls: readonly Rpc[]
  /** Resolves when the first call has reached it. */
  readonly reached: Promise<void>
  /** The command of a process that speaks its words on stdio. */
  readonly command: { readonly command: string; readonly args: readonly string[] }
  /** Its Streamable HTTP endpoint. */
  readonly url: string
  /** Sends a notification to every client on stdio. */
  notify(method: string): void
  /** From now on nothing that clients send on stdio is read. */
  stopReading(): void
  /** Goes away from its HTTP address, and comes back to it. */
  offline(off: boolean): Promise<void>
  close(): Promise<void>
}
export type Rpc = {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly [name: string]: unknown }
}

const TOOLS = ['create_refund', 'annotate', 'count_up', 'limited', 'close', 'held', 'once']

/** One MCP server, reached as a child process or over HTTP, which does what the test says. */
export async function scripted(): Promise<Scripted> {
  const calls: Rpc[] = []
  let tell: () => void = () => undefined
  const reached = new Promise<void>((resolve) => {
    tell = resolve
  })

  /** Null: nothing is answered. `cut`: the answer breaks off. */
  function answerTo(message: Rpc): { readonly text: string; readonly cut: boolean } | null {
    const { id, method } = message
    if (id === undefined) return null
    const say = (body: object) => ({ text: JSON.stringify({ jsonrpc: '2.0', id, ...body }) })
    const done = (result: object) => ({
      ...say({ result: { resultType: 'complete', ...result } }),
      cut: false,
    })
    switch (method) {
      case 'initialize':
        return done({
          protocolVersion: message.params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'pay', version: '1' },
        })
      case 'tools/list':
        if (script.manner === 'lists_nothing') {
          return { ...say({ error: { code: -32601, message: 'no' } }), cut: false }
        }
        return done({ tools: TOOLS.map(described), ttlMs: 0, cacheScope: 'public' })
      case 'tools/call':
        break
      default:
        return done({})
    }
    calls.push(message)
    tell()
    switch (script.manner) {
      case 'lists_nothing':
      case 'answers':
        return done({ content: [{ type: 'text', text: script.text }] })
      case 'gives_a_task':
        return done({ resultType: 'task', taskId: 't-1', status: 'working', ttlMs: null })
      case 'says_is_error':
        return done({ content: [{ type: 'text', text: 'gone' }], isError: true })
      case 'says_bad_params':
        return { ...say({ error: { code: -32602, message: 'gone' } }), cut: false }
      case 'says_error':
        return { ...say({ error: { code: -32603, message: 'x' } }), cut: false }
      case 'dies':
        return { text: done({ content: [] }).text, cut: true }
      case 'is_silent':
        return null
      case 'wants_input':
        return done({ resultType: 'input_required', requestState: 's', inputRequests: ASKS })
    }
  }
  const described = (name: string) => ({
    name,
    description: script.description,
    inputSchema: { type: 'object' },
  })

  const sockets = new Set<Socket>()
  const pipes = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    createInterface({ input: socket }).on('line', (line) => {
      const answer = answerTo(JSON.parse(line) as Rpc)
      if (answer?.cut === true) socket.end(answer.text.slice(0, -3))
      else if (answer !== null) socket.write(`${answer.text}\n`)
    })
  })
  const web = createHttpServer((req, res) => {
    const pieces: Buffer[] = []
    req.on('data', (piece: Buffer) => pieces.push(piece))
    req.on('end', () => {
      if (req.method !== 'POST') {
        res.writeHead(405).end()
        return
      }
      const message = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Rpc
      if (message.id === undefined) res.writeHead(202).end()
      else answerHttp(answerTo(message), res)
    })
  })
  // A local socket holds little: a server that does not read is soon felt.
  const dir = mkdtempSync(join(tmpdir(), 'mcp-'))
  const path = join(dir, 'words')
  await listenOn(pipes, path)
  await listenOn(web, 0)
  const { port: webPort } = web.address() as AddressInfo
  const script = {
    manner: 'answers' as Manner,
    description: 'As it was first.',
    text: 'done',
    calls,
    reached,
    command: {
      command: process.execPath,
      args: [join(import.meta.dirname, 'relay.mjs'), path],
    },
    url: `http://127.0.0.1:${webPort}/mcp`,
    notify(method: string) {
      for (const socket of sockets) socket.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`)
    },
    stopReading() {
      for (const socket of sockets) socket.pause()
    },
    async offline(off: boolean) {
      if (off) await closed(web)
      else await listenOn(web, webPort)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await Promise.all([closed(pipes), closed(web)])
      rmSync(dir, { recursive: true, force: true })
    },
  }
  return script
}

const ASKS = {
  why: {
    method: 'elicitation/create',
    params: { mode: 'form', message: 'Why?', requestedSchema: { type: 'object', properties: {} } },
  },
}

function answerHttp(
  answer: { readonly text: string; readonly cut: boolean } | null,
  res: ServerResponse,
): void {
  if (answer === null) return
  const { text, cut } = answer
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
  if (cut) res.write(text.slice(0, -3), () => res.destroy())
  else res.end(text)
}

type Listener = ReturnType<typeof createServer> | ReturnType<typeof createHttpServer>
const listenOn = (server: Listener, at: number | string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    if (typeof at === 'string') server.listen(at, resolve)
    else server.listen(at, '127.0.0.1', resolve)
  })
const closed = (server: Listener): Promise<void> =>
  new Promise((resolve) => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close(() => resolve())
  })
