import { once } from 'node:events'
import { createServer } from 'node:net'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import type { Code } from '../../src/core/verdict/table.js'
import { parseAnswer, type RawClient, rawClient } from '../mounts/proxy/harness.js'
import { type LineClient, lineClient } from '../support/mcp/lines.js'
import {
  MESSAGE_BYTES,
  type Message,
  message,
  messageIn,
  ofServer,
  postOf,
  problemIn,
  SERVER,
} from '../support/mcp/messages.js'
import { type Manner, scripted } from '../support/mcp/scripted.js'
import { mcpListener } from '../support/mcp/web.js'
import { nextRequest } from '../support/next-request.js'
import { TOKEN } from '../support/rig.js'
import { MANIFEST, SECRET } from '../support/verdict-scenarios.js'
import { declaredIn } from './ask-http.js'
import type { Doing, Told, Way } from './verdict-table.js'
import { agentOf, TOOLS } from './verdict-ways.js'

/** The tools of the scenarios as tools of a server, which has resources too. */
export const MCP_MANIFEST = `${ofServer(MANIFEST)}  notes:
    match: {server: ${SERVER}, resource: "note://*"}
`

/** A wrapped command: the client on two pipes, the server a process of its own. */
export async function throughMcpStdio(running: RunningGate): Promise<Way> {
  const server = await scripted()
  server.text = ANSWER
  let { command } = server
  let clients = new Map<string, LineClient>()
  let underway: { readonly client: LineClient; readonly id: number } | null = null
  const closeAll = async (): Promise<void> => {
    for (const client of clients.values()) await client.close()
    clients = new Map()
  }
  const clientOf = async (agent: string): Promise<LineClient> => {
    const found = clients.get(agent)
    if (found !== undefined) return found
    const caller = { bearer: null, certificate: null, asserted: agent, source: 'stdio' }
    const client = await lineClient(running, command, caller)
    clients.set(agent, client)
    return client
  }
  return {
    async behave(doing) {
      server.manner = mannerOf(doing)
      if (doing.code === 'tool_changed') {
        server.description = 'Otherwise than it was.'
        server.notify('notifications/tools/list_changed')
        const client = await clientOf(AGENT)
        const { id, text } = message('server/discover', '', null)
        await client.ask(id, text)
        return
      }
      await closeAll()
      if (doing.code === 'upstream_unreachable') command = { command: '/nowhere/pay', args: [] }
      if (doing.code !== 'deadline_before_dispatch') return
      const client = await clientOf(AGENT)
      // So that the gate knows the tools, and asks the server nothing more.
      const known = message('tools/call', 'unheard_of', '{}')
      await client.ask(known.id, known.text)
      server.stopReading()
      // The pipe is full of it, and what comes after waits.
      const cursor = 'c'.repeat(MESSAGE_BYTES - 1024)
      const long = message('tools/list', '', null, { more: [`"cursor":"${cursor}"`] })
      client.ask(long.id, long.text).catch(() => undefined)
    },
    reached: () => server.reached,
    async ask(call, code) {
      const client = await clientOf(agentOf(call))
      const unread = unreadText(call)
      if (unread !== null) return told(await client.askUnread(unread))
      const { id, text } = messageOf(call, code)
      underway = { client, id }
      const reply = await client.ask(id, text)
      return reply === null ? null : told(reply)
    },
    async cancel() {
      await underway?.client.cancel(underway.id)
    },
    async close() {
      await closeAll()
      await server.close()
    },
  }
}

/** Streamable HTTP in front of the gate and behind it. */
export async function throughMcpHttp(running: RunningGate): Promise<Way> {
  const server = await scripted()
  server.text = ANSWER
  const mount = await mcpListener(running, server.url)
  const { port } = mount
  const deaf = createServer(() => undefined)
  let underway: RawClient | null = null
  let socketOf: ReturnType<typeof nextRequest> | null = null

  async function send(octets: string): Promise<Told | null> {
    socketOf = nextRequest()
    const client = await rawClient(port)
    underway = client
    client.send(octets)
    const { status, headers, body, text } = parseAnswer(await client.closed())
    if (status === 0) return null
    const said = told(messageIn(headers.get('content-type'), body.toString('utf8')))
    // Its own refusals have their status on the wire too.
    if (status !== 200 && said.problem !== null && said.problem.status !== status) {
      throw new Error(`HTTP says ${status}, the problem ${said.problem.status}`)
    }
    return { ...said, wire: text }
  }
  async function breakOff(octets: string): Promise<null> {
    const client = await rawClient(port)
    client.socket.end(octets.slice(0, -3))
    return null
  }
  return {
    async behave(doing) {
      server.manner = mannerOf(doing)
      if (doing.code === 'tool_changed') {
        server.description = 'Otherwise than it was.'
        await send(postOf(message('tools/list', '', null), TOKEN_OF[AGENT]))
      }
      if (doing.code === 'upstream_unreachable') await server.offline(true)
      if (doing.code !== 'deadline_before_dispatch') return
      await send(postOf(message('tools/call', 'unheard_of', '{}'), TOKEN_OF[AGENT]))
      await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
      const address = deaf.address()
      // TLS never comes up.
      if (typeof address === 'object') mount.moveTo(`https://127.0.0.1:${address?.port}`)
    },
    reached: () => server.reached,
    ask(call, code) {
      const { bearer } = call.caller
      const unread = unreadText(call)
      const octets = postOf(
        unread === null ? messageOf(call, code) : { method: '', name: '', text: unread },
        bearer,
      )
      switch (call.body.kind) {
        case 'aborted':
          return breakOff(octets)
        case 'too_large':
          return send(octets.slice(0, octets.indexOf('\r\n\r\n') + 4))
        default:
          return send(octets)
      }
    },
    /** In this era a closed stream is the cancellation. */
    async cancel() {
      const socket = await socketOf
      if (socket === null) return
      const closed = once(socket, 'close')
      underway?.socket.destroy()
      await closed
    },
    async readOwn(method, path, { caller: { bearer } }) {
      const client = await rawClient(port)
      const who = bearer === null ? '' : `authorization: Bearer ${bearer}\r\n`
      client.send(`${method} ${path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${who}\r\n`)
      return (await client.closed()).toString('latin1')
    },
    async close() {
      await mount.close()
      deaf.close()
      await server.close()
    },
  }
}

const AGENT = 'support-bot'
const TOKEN_OF = { [AGENT]: TOKEN } as const
const ANSWER = `{"id":"rf_${SECRET}"}`

/** What the server does where an upstream would do what the row's tool does. */
function mannerOf({ code, cut }: Doing): Manner {
  if (cut) return 'dies'
  switch (code) {
    case 'tool_refused':
      return 'says_is_error'
    case 'tool_failed':
      return 'says_error'
    case 'outcome_unknown':
      return 'dies'
    case 'deadline_after_dispatch':
    case 'recovered':
      return 'is_silent'
    case 'unfinished':
      return 'wants_input'
    default:
      return 'answers'
  }
}

/** The same call as a request of a client. */
function messageOf(call: HttpCall, code: Code): Message {
  const { target, idempotencyKey, approvalId, body } = call
  if (code === 'target_malformed') return message('resources/read', `note:/${target}`, null)
  const text = body.kind === 'read' ? Buffer.from(body.bytes).toString('utf8') : '{}'
  const tool = TOOLS[target] ?? 'unheard_of'
  const { intent, mandate } = declaredIn(call)
  const declared = {
    ...(intent === undefined ? {} : { intent: JSON.parse(intent) as object }),
    ...(mandate === undefined ? {} : { mandate }),
  }
  return message('tools/call', tool, text, { idempotencyKey, approvalId, declared })
}

/** What is no message that could be answered under an id; null: it is one. */
function unreadText({ body }: HttpCall): string | null {
  const { text } = message('tools/call', 'create_refund', '{}')
  switch (body.kind) {
    case 'malformed':
      return `[${text}]`
    case 'too_large':
      return text.padEnd(MESSAGE_BYTES + 1)
    default:
      return null
  }
}

function told(text: string): Told {
  const problem = problemIn(text)
  return { status: problem === null ? 200 : Number(problem.status), problem, wire: text }
}
