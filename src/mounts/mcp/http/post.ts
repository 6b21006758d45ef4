import type { ServerResponse } from 'node:http'
import type { Header } from '../../../core/call/call.js'
import { errorOctets, type Message, readMessage } from '../../../core/mcp/message.js'
import { metaOf } from '../../../core/mcp/meta.js'
import { malformed } from '../call/answer.js'
import { recordUnread } from '../call/unread.js'
import { toldBy } from '../client.js'
import type { McpOptions, Reply, Sender, Served } from '../options.js'
import { type EventStream, openEventStream } from './event-stream.js'
import { headerOf, modernFault } from './head.js'
import type { HttpSession, Sessions } from './sessions.js'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

export type Posted = {
  readonly octets: Uint8Array
  readonly headers: readonly Header[]
  readonly sender: Sender
  readonly agent: string
  readonly res: ServerResponse
}

/** One message by POST: the answer is one JSON object, or a stream where something else goes before it. */
export async function answerPost(
  { octets, headers, sender, agent, res }: Posted,
  served: Served,
  sessions: Sessions,
  { gate, messageBytes }: Pick<McpOptions, 'gate' | 'messageBytes'>,
): Promise<void> {
  const read = readMessage(octets, messageBytes)
  if (!read.ok) {
    const answer = await recordUnread(read.fault, served.name, sender, gate)
    return sendReply(res, malformed(answer, read.fault, read.id), false)
  }
  const { message } = read
  const modern = message.kind === 'request' && toldBy(message) !== null
  const fault = message.kind === 'request' ? modernFault(headers, message) : null
  if (fault !== null && message.kind === 'request') {
    const answer = await recordUnread(fault, served.name, sender, gate)
    return sendReply(res, malformed(answer, fault, message.id), true)
  }
  const found = sessionFor(message, modern, headers, agent, served, sessions)
  const to = message.kind === 'request' ? message.id : null
  if (found.kind === 'full') {
    const said = JSON.stringify({ code: -32600, message: FULL })
    const reply = { octets: errorOctets(to, said), status: 429, problem: null, code: -32600 }
    return sendReply(res, reply, modern)
  }
  if (found.kind === 'refused') {
    // It could have been a call: then it is on record, as every answer to one.
    const answer = await recordUnread(found.fault, served.name, sender, gate)
    return sendReply(res, { ...malformed(answer, found.fault, to), status: found.status }, modern)
  }
  return exchange(octets, message, found.session, sender, res, { modern, fresh: found.fresh })
}

type Found =
  | { readonly kind: 'found'; readonly session: HttpSession; readonly fresh: boolean }
  | {
      readonly kind: 'refused'
      readonly fault: 'session_missing' | 'session_unknown'
      readonly status: number
    }
  /** The agent has as many as one may have. */
  | { readonly kind: 'full' }

function sessionFor(
  message: Message,
  modern: boolean,
  headers: readonly Header[],
  agent: string,
  served: Served,
  sessions: Sessions,
): Found {
  if (modern) return { kind: 'found', session: sessions.shared(agent, served), fresh: false }
  const id = headerOf(headers, 'mcp-session-id')
  if (id !== null) {
    const session = sessions.find(id, agent, served.name)
    return session === null
      ? { kind: 'refused', fault: 'session_unknown', status: 404 }
      : { kind: 'found', session, fresh: false }
  }
  if (message.kind !== 'request' || message.method !== 'initialize') {
    return { kind: 'refused', fault: 'session_missing', status: 400 }
  }
  const session = sessions.open(agent, served)
  return session === null ? { kind: 'full' } : { kind: 'found', session, fresh: true }
}

const FULL = 'You have as many sessions as one agent may have; close one with DELETE.'

async function exchange(
  octets: Uint8Array,
  message: Message,
  { id, session, posts: open, nextScope }: HttpSession,
  sender: Sender,
  res: ServerResponse,
  { modern, fresh }: { readonly modern: boolean; readonly fresh: boolean },
): Promise<void> {
  const sessionHeader = modern ? {} : { 'mcp-session-id': id }
  if (message.kind !== 'request') {
    await session.handle(octets, sender)
    res.writeHead(202, sessionHeader).end()
    return
  }
  // Without sessions, clients that do not know of each other may use the same ids.
  const scope = modern ? `${nextScope()} ` : ''
  const key = `${scope}${message.id.key}`
  let stream: EventStream | null = null
  open.set(key, {
    wantsLogs: metaOf(message.params.value).has(LOG_LEVEL),
    stream() {
      stream ??= openEventStream(res, sessionHeader)
      return stream
    },
  })
  const left = (): void => {
    if (modern) session.cancel({ text: message.id.text, key })
  }
  res.once('close', left)
  try {
    const reply = await session.handle(octets, sender, scope)
    res.off('close', left)
    finish(res, stream, reply, modern, fresh ? sessionHeader : {})
  } finally {
    open.delete(key)
  }
}

function finish(
  res: ServerResponse,
  stream: EventStream | null,
  reply: Reply | null,
  modern: boolean,
  headers: Readonly<Record<string, string>>,
): void {
  if (stream !== null) {
    if (reply !== null) stream.send(reply.octets)
    stream.end()
  } else if (reply === null) res.writeHead(204).end()
  else sendReply(res, reply, modern, headers)
}

/** The protocol's own errors have statuses of their own in the modern era. */
const STATUS_OF: ReadonlyMap<number, number> = new Map([
  [-32601, 404],
  [-32700, 400],
  [-32600, 400],
  [-32020, 400],
  [-32021, 400],
  [-32022, 400],
])

export function sendReply(
  res: ServerResponse,
  { octets, status, code }: Reply,
  modern: boolean,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (res.destroyed || res.headersSent) return
  const own = modern && status === 200 && code !== null ? (STATUS_OF.get(code) ?? status) : status
  res.writeHead(own, {
    'content-type': 'application/json',
    'content-length': octets.length,
    'cache-control': 'no-store',
    ...headers,
  })
  res.end(octets)
}
