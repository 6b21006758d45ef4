import { afterEach } from '@jest/globals'
import { createHttpMcpServer } from '../../../../src/adapters/http-client/mcp/server.js'
import { createUpstream } from '../../../../src/adapters/http-client/upstream.js'
import { notificationOctets, requestOctets } from '../../../../src/core/mcp/message.js'
import type {
  McpControl,
  McpEnd,
  McpFault,
  McpHead,
  McpReceived,
  McpReport,
} from '../../../../src/ports/mcp.js'
import { type Peer, rawUpstream } from '../../../support/raw-upstream.js'

export const FREELY: McpControl = { stillAllowed: () => true, totalMs: 0 }
export const LEGACY: McpHead = {
  method: 'tools/call',
  name: 'refund',
  protocolVersion: '2025-11-25',
  params: [],
}
export const MODERN: McpHead = { ...LEGACY, protocolVersion: '2026-07-28' }
export const text = (octets: Uint8Array): string => Buffer.from(octets).toString()

export function messageOf(received: McpReceived): Extract<McpReceived, { kind: 'message' }> {
  if (received.kind !== 'message') throw new Error(`no message: ${JSON.stringify(received)}`)
  return received
}
export function noneOf(received: McpReceived) {
  if (received.kind !== 'none') throw new Error(`a message: ${text(received.octets)}`)
  return received.observation
}

/** One HTTP request as the server sees it. */
export type Asked = {
  readonly peer: Peer
  readonly httpMethod: string
  readonly head: string
  header(name: string): string | null
  /** Of the message; the method of HTTP where there is none. */
  readonly method: string
  readonly id: number
}
export type Serve = (asked: Asked) => Promise<void> | void

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

export async function open(serve: Serve, maxMessageBytes = 1 << 20) {
  const methods: string[] = []
  const raw = await rawUpstream(async (peer) => {
    const { head, body } = await peer.request()
    const message = body.length === 0 ? {} : JSON.parse(body.toString())
    const httpMethod = head.slice(0, head.indexOf(' '))
    const method = message.method ?? (body.length === 0 ? httpMethod : 'response')
    methods.push(method)
    await serve({
      peer,
      httpMethod,
      head,
      method,
      id: message.id,
      header: (name) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? null,
    })
  })
  closing.push(() => raw.close())
  const connected = connect(raw.origin, maxMessageBytes)
  const { connection } = connected
  return {
    raw,
    ...connected,
    methods,
    ask: (id: number, head: McpHead = MODERN, control: McpControl = FREELY, params = '{}') =>
      connection.request(
        { id, head, octets: requestOctets(id, head.method ?? 'tools/call', params) },
        control,
      ),
    tell: (method: string, head: McpHead = LEGACY) =>
      connection.tell(notificationOctets(method, ''), { ...head, method, name: null }),
  }
}

export function connect(origin: string, maxMessageBytes = 1 << 20) {
  const upstream = createUpstream({
    name: 'mcp',
    origin: origin,
    holdLimit: 0,
    credential: { header: 'authorization', value: () => 'Bearer upstream-secret' },
  })
  const reports: McpReport[] = []
  const server = createHttpMcpServer({
    name: 'test',
    url: `${origin}/mcp?tenant=1`,
    upstream,
    maxMessageBytes,
    report: (report) => reports.push(report),
  })
  closing.push(() => server.close())
  const waiting: (() => void)[] = []
  const heard = (): void => {
    for (const wake of waiting.splice(0)) wake()
  }
  const messages: { text: string; during: number | null }[] = []
  const faults: McpFault[] = []
  const ends: McpEnd[] = []
  const connection = server.connect({
    message: (octets, during) => {
      messages.push({ text: text(octets), during })
      heard()
    },
    fault: (fault) => {
      faults.push(fault)
      heard()
    },
    closed: (end) => {
      ends.push(end)
      heard()
    },
  })
  return {
    upstream,
    server,
    connection,
    reports,
    messages,
    faults,
    ends,
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

// ── What servers say ─────────────────────────────────────────────────────────
export const result = (id: number, value = '{}'): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${value}}`
export const error = (id: number | null, code = -32601): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"no"}}`
export const note = (n = 1): string =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":${n}}}`

export const json = (body: string, status = 200, headers = ''): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
export const ACCEPTED = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'
export const plain = (status: number, body = ''): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`

export const STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
export const chunk = (data: string): string =>
  `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`
export const event = (data: string): string => chunk(`data: ${data}\n\n`)
export const END = '0\r\n\r\n'
