import type { Hashing } from '../../core/crypto/crypto.js'
import type { JsonValue } from '../../core/json/value.js'
import { JsonNumber } from '../../core/json/value.js'
import {
  type Message,
  type Notification,
  notificationOctets,
  objectOf,
  type Request,
  type RequestId,
  type Response,
  readMessage,
  requestOctets,
  responseOctets,
} from '../../core/mcp/message.js'
import { metaMembers, PROGRESS_TOKEN, passesInMeta, withMeta } from '../../core/mcp/meta.js'
import { clientMayNotify, passes } from '../../core/mcp/methods.js'
import type { McpConnection, McpEnd } from '../../ports/mcp.js'
import { malformed, protocolError, responseIn } from './call/answer.js'
import { governCall } from './call/govern-call.js'
import { createTasks } from './call/tasks.js'
import { recordUnread, type Unread } from './call/unread.js'
import { type ClientKnown, initialized, NOT_YET_KNOWN, toldBy } from './client.js'
import { createFlights, type Flight } from './flights.js'
import { fromServer } from './from-server.js'
import type { Line } from './line.js'
import { createDefinitions } from './lists/definitions.js'
import {
  type ClientEnd,
  type McpOptions,
  PASS_MS,
  type Reply,
  type Sender,
  type Served,
} from './options.js'
import { isOwnMethod, ownReply } from './own-methods.js'
import { passOn } from './pass.js'

/** One client's dealings with one server. */
export type Session = {
  /**
   * One message of the client. Null: nothing is to be answered. `scope` tells the ids of one client from those of
   * another, where several share a session.
   */
  handle(octets: Uint8Array, sender: Sender, scope?: string): Promise<Reply | null>
  /** Opens the connection to the server now, where it is not to wait for the first message. */
  start(): void
  /** The client closed the stream on which its answer would have come: that too is a cancellation. */
  cancel(id: RequestId): void
  /** Ends the connection to the server; calls under way end with it, and are recorded. */
  close(): Promise<void>
  /** Resolves when the server is gone. */
  readonly ended: Promise<McpEnd>
}

export function createSession(
  served: Served,
  client: ClientEnd,
  options: McpOptions & { readonly hashing: Hashing },
): Session {
  const { gate, hashing, messageBytes } = options
  const flights = createFlights()
  const definitions = createDefinitions(served, gate, hashing)
  const tasks = createTasks(gate)
  let open: McpConnection | null = null
  let agent = ''
  let known = NOT_YET_KNOWN
  let tellEnd: (end: McpEnd) => void = () => undefined
  const ended = new Promise<McpEnd>((resolve) => {
    tellEnd = resolve
  })
  const connection = (): McpConnection => {
    open ??= served.to.connect({
      message: (octets, during) => server.message(octets, during),
      fault: (fault) => void gate.recordServerFault(served.name, fault),
      closed: (end) => tellEnd(end),
    })
    return open
  }
  const server = fromServer({
    gate,
    served,
    client,
    flights,
    definitions,
    connection,
    agent: () => agent,
  })
  const lineFor = ({ version }: ClientKnown): Line => ({
    gate,
    served,
    definitions,
    connection,
    cleaned: server.cleaned,
    headOf: (method, name) => ({ method, name, protocolVersion: version, params: [] }),
  })

  async function handle(octets: Uint8Array, sender: Sender, scope = ''): Promise<Reply | null> {
    const { identified } = sender
    if (octets.length > messageBytes) return refuse('too_large', null, sender)
    const read = readMessage(octets, messageBytes)
    if (!read.ok) return refuse(read.fault, read.id, sender)
    const message = scope === '' ? read.message : scoped(read.message, scope)
    // Nothing of an unknown caller reaches a server; each try is recorded.
    if (identified.kind === 'unknown') return refuse('unread', idOf(message), sender)
    agent = identified.agent
    const room = gate.memory.bodyOf(agent)
    if (!room.take(octets.length)) return refuse('no_room', idOf(message), sender)
    try {
      return await handleMessage(message, sender)
    } finally {
      room.giveBack()
    }
  }

  async function handleMessage(message: Message, sender: Sender): Promise<Reply | null> {
    switch (message.kind) {
      case 'notification':
        notify(message)
        return null
      case 'response':
        if (server.answered(message.id)) {
          connection().tell(responseOctets(message.id, message), lineFor(known).headOf(null, null))
        }
        return null
      case 'request':
        return handleRequest(message, sender)
    }
  }

  async function handleRequest(request: Request, sender: Sender): Promise<Reply | null> {
    // Under its id the refusal would be taken for the answer to the first.
    if (flights.isOpen(request.id)) return refuse('message_id_in_flight', null, sender)
    const token = metaMembers(request.params.members).find(({ name }) => name === PROGRESS_TOKEN)
    const telling = toldBy(request) ?? known
    const flight = flights.open(request.id, token?.value ?? null, telling.version)
    try {
      const reply = await replyTo(request, flight, sender, telling)
      return flight.cancelled() ? null : reply
    } catch (error) {
      const detail = `${served.name} ${request.method}: ${String(error)}`
      gate.report({ level: 'error', event: 'exchange_failed', detail })
      return protocolError(request.id, -32603, 'The gate could not process the request.')
    } finally {
      flights.over(flight)
    }
  }

  async function replyTo(
    request: Request,
    flight: Flight,
    sender: Sender,
    telling: ClientKnown,
  ): Promise<Reply> {
    const { method } = request
    if (isOwnMethod(method)) return ownReply(request, sender, { gate, served })
    const line = lineFor(telling)
    if (passes(method, telling.modern ? 'modern' : 'legacy')) {
      const { reply, result } = await passOn(request, flight, sender, line)
      if (method === 'initialize' && result !== null) known = initialized(request, result.value)
      return reply
    }
    return governCall(request, flight, sender, {
      ...line,
      ...telling,
      approvalLink: options.approvalLink,
      tasks,
      askServer: (asked, members) => askServer(asked, members, request, line),
      refuse: (fault) => refuse(fault, request.id, sender),
    })
  }

  /** A request of the gate's own, with the protocol's keys of the call for which it is made. */
  async function askServer(
    method: string,
    members: readonly string[],
    { params }: Request,
    { headOf }: Line,
  ): Promise<Response['body'] | null> {
    const meta = metaMembers(params.members)
      .filter(({ name }) => passesInMeta(name, served.meta.to_server))
      .map(({ text }) => text)
    const all = [...members, ...(meta.length === 0 ? [] : [`"_meta":${objectOf(meta)}`])]
    const id = flights.nextId()
    const received = await connection().request(
      { id, octets: requestOctets(id, method, objectOf(all)), head: headOf(method, null) },
      { stillAllowed: () => true, totalMs: PASS_MS },
    )
    return received.kind === 'none' ? null : (responseIn(received.octets)?.body ?? null)
  }

  function notify({ method, params }: Notification): void {
    const { headOf } = lineFor(known)
    if (!clientMayNotify(method)) {
      const detail = `${served.name}: ${method} of a client is not passed on`
      gate.report({ level: 'warn', event: 'notification_dropped', detail })
      return
    }
    if (method !== 'notifications/cancelled') {
      const none = params.members.length === 0
      const text = none ? '' : withMeta(params.members, served.meta.to_server, tokenOf(params))
      connection().tell(notificationOctets(method, text), headOf(method, null))
      return
    }
    const flight = flights.ofClient(keyOf(params.value.get('requestId')))
    if (flight === undefined) return
    cancel(
      flight,
      params.members.filter(({ name }) => name === 'reason').map(({ text }) => text),
    )
  }

  /** What was sent is recorded as cut; the server may stop its work. */
  function cancel(flight: Flight, reason: readonly string[]): void {
    flight.cancel()
    const text = objectOf([`"requestId":${flight.id}`, ...reason])
    const method = 'notifications/cancelled'
    const head = { method, name: null, protocolVersion: flight.version, params: [] }
    connection().tell(notificationOctets(method, text), head)
  }

  async function refuse(fault: Unread, id: RequestId | null, sender: Sender): Promise<Reply> {
    return malformed(await recordUnread(fault, served.name, sender, gate), fault, id)
  }

  return {
    handle,
    start: () => void connection(),
    cancel(id) {
      const flight = flights.ofClient(id.key)
      if (flight !== undefined) cancel(flight, [])
    },
    async close() {
      await open?.close()
      await server.settled()
    },
    ended,
  }
}

/** Of progress that a client tells about a request of the server. */
const tokenOf = ({ members }: Notification['params']): readonly string[] =>
  metaMembers(members)
    .filter(({ name }) => name === PROGRESS_TOKEN)
    .map(({ text }) => text)

const scoped = (message: Message, scope: string): Message =>
  message.kind === 'notification'
    ? message
    : { ...message, id: { ...message.id, key: `${scope}${message.id.key}` } }

const idOf = (message: Message): RequestId | null =>
  message.kind === 'request' ? message.id : null

const keyOf = (id: JsonValue | undefined): string => {
  if (typeof id === 'string') return `s${id}`
  return id instanceof JsonNumber ? `n${id.token}` : ''
}
