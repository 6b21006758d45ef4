import { createHttpMcpServer } from '../../adapters/http-client/mcp/server.js'
import { createUpstream } from '../../adapters/http-client/upstream.js'
import { readSecret } from '../../config/secret-ref.js'
import { GateError } from '../../core/error.js'
import { JsonNumber } from '../../core/json/value.js'
import {
  errorOctets,
  type Message,
  notificationOctets,
  objectOf,
  type Request,
  readMessage,
  requestOctets,
  responseOctets,
} from '../../core/mcp/message.js'
import type { GateReport } from '../../gate/context.js'
import { initialized, NOT_YET_KNOWN, toldBy } from '../../mounts/mcp/client.js'
import { MAX_SERVER_MESSAGE } from '../../mounts/mcp/options.js'
import type { Wire } from '../../mounts/mcp/stdio.js'
import type { McpEnd, McpHead } from '../../ports/mcp.js'

/** Longer than any hold of the gate: whoever waits gives up by itself. */
const TOTAL_MS = 0

/** A client on stdio, for a gate that runs elsewhere and has the server itself: nothing is judged here. */
export async function runToGate(
  to: { readonly url: string; readonly name: string; readonly tokenFile: string },
  wire: Wire,
  options: { readonly stop: AbortSignal; readonly report: (event: GateReport) => void },
): Promise<number> {
  const token = readSecret({ kind: 'file', path: to.tokenFile }, {})
  if (!token.ok) throw new GateError('config_invalid', `--token-file: ${token.why}`)
  const url = new URL(`/mcp/${to.name}`, to.url).href
  const upstream = createUpstream({
    name: to.name,
    origin: new URL(url).origin,
    holdLimit: 0,
    credential: {
      header: 'authorization',
      value() {
        const secret = readSecret({ kind: 'file', path: to.tokenFile }, {})
        if (!secret.ok) throw new Error(secret.why)
        return `Bearer ${secret.value}`
      },
    },
  })
  const server = createHttpMcpServer({
    name: to.name,
    url,
    upstream,
    maxMessageBytes: MAX_SERVER_MESSAGE,
    report: options.report,
  })
  let known = NOT_YET_KNOWN
  let last = 0
  const underway = new Map<string, { readonly id: number; readonly controller: AbortController }>()
  let tellEnd: (end: McpEnd) => void = () => undefined
  const ended = new Promise<McpEnd>((resolve) => {
    tellEnd = resolve
  })
  const connection = server.connect({
    message: (octets) => void wire.offer(octets),
    fault: (fault) => options.report({ level: 'warn', event: 'gate_fault', detail: fault }),
    closed: (end) => tellEnd(end),
  })
  const headOf = (message: Message): McpHead => ({
    method: message.kind === 'response' ? null : message.method,
    name: message.kind === 'request' ? nameIn(message) : null,
    protocolVersion:
      (message.kind === 'request' ? toldBy(message) : null)?.version ?? known.version,
    params: [],
  })

  async function ask(request: Request): Promise<void> {
    const id = ++last
    const controller = new AbortController()
    underway.set(request.id.key, { id, controller })
    const text = objectOf(request.params.members.map((member) => member.text))
    const octets = requestOctets(id, request.method, text)
    const received = await connection.request(
      { id, octets, head: headOf(request) },
      { stillAllowed: () => true, totalMs: TOTAL_MS, signal: controller.signal },
    )
    underway.delete(request.id.key)
    if (controller.signal.aborted) return
    const read = received.kind === 'none' ? null : readMessage(received.octets, MAX_SERVER_MESSAGE)
    if (read === null || !read.ok || read.message.kind !== 'response') {
      const cause = received.kind === 'none' ? received.observation.cause : 'no_answer'
      const message = `The gate cannot be reached (${cause}).`
      wire.write(errorOctets(request.id, JSON.stringify({ code: -32603, message })))
      return
    }
    const { body } = read.message
    if (request.method === 'initialize' && body.kind === 'result') {
      known = initialized(request, body.value)
    }
    wire.write(responseOctets(request.id, read.message))
  }

  function cancelled(message: Extract<Message, { kind: 'notification' }>): void {
    const id = message.params.value.get('requestId')
    const key = typeof id === 'string' ? `s${id}` : id instanceof JsonNumber ? `n${id.token}` : ''
    const found = underway.get(key)
    if (found === undefined) return
    const text = objectOf([`"requestId":${found.id}`])
    connection.tell(notificationOctets(message.method, text), headOf(message))
    found.controller.abort()
  }

  const asking = new Set<Promise<void>>()
  wire.take((octets) => {
    const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
    if (!read.ok) {
      const error = { code: -32700, message: 'The message cannot be read.' }
      wire.write(errorOctets(read.id, JSON.stringify(error)))
      return
    }
    const { message } = read
    if (message.kind === 'request') {
      const asked = ask(message).finally(() => asking.delete(asked))
      asking.add(asked)
    } else if (message.kind === 'response') connection.tell(octets, headOf(message))
    else if (message.method === 'notifications/cancelled') cancelled(message)
    else connection.tell(octets, headOf(message))
  })
  const stopped = new Promise<void>((resolve) => {
    options.stop.addEventListener('abort', () => resolve(), { once: true })
  })
  const done = wire.closed.then(() => Promise.all(asking))
  const first = await Promise.race([done, stopped, ended.then(() => 'gone' as const)])
  await connection.close()
  await server.close()
  return first === 'gone' ? 1 : 0
}

function nameIn({ method, params }: Request): string | null {
  const name = params.value.get(method === 'resources/read' ? 'uri' : 'name')
  const named = ['tools/call', 'prompts/get', 'resources/read'].includes(method)
  return named && typeof name === 'string' ? name : null
}
