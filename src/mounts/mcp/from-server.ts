import { type Member, membersOf } from '../../core/json/spans.js'
import {
  errorOctets,
  type Notification,
  notificationOctets,
  type Request,
  type RequestId,
  readMessage,
  requestOctets,
  resultOctets,
} from '../../core/mcp/message.js'
import { metaMembers, PROGRESS_TOKEN, withMeta } from '../../core/mcp/meta.js'
import { askOf, serverMayNotify } from '../../core/mcp/methods.js'
import type { McpConnection, McpHead } from '../../ports/mcp.js'
import type { Flights } from './flights.js'
import type { Definitions } from './lists/definitions.js'
import { type ClientEnd, MAX_SERVER_MESSAGE, type McpGate, type Served } from './options.js'

export type FromServer = ReturnType<typeof fromServer>
type Parts = {
  readonly gate: McpGate
  readonly served: Served
  readonly client: ClientEnd
  readonly flights: Flights
  readonly definitions: Definitions
  readonly connection: () => McpConnection
  /** Whose session it is. */
  readonly agent: () => string
}

/** Subscriptions are named by the id of the request that opened them, which the client knows by its own. */
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const NO_HEAD: McpHead = { method: null, name: null, protocolVersion: null, params: [] }

/** What a server sends beside its answers: notifications go on, requests where the operator lets them. */
export function fromServer(parts: Parts) {
  const { gate, served, client, flights, definitions, connection } = parts
  /** Requests of the server that the client has not answered yet. */
  const asked = new Map<string, RequestId>()
  /** One after the other, because an ask is on record before it goes on. */
  let order: Promise<void> = Promise.resolve()

  const aboutOf = (during: number | null): RequestId | null =>
    during === null ? null : (flights.withId(during)?.client ?? null)

  async function deliver(octets: Uint8Array, during: number | null): Promise<void> {
    const read = readMessage(octets, MAX_SERVER_MESSAGE)
    if (!read.ok) return gate.recordServerFault(served.name, read.fault)
    switch (read.message.kind) {
      case 'request':
        return ask(read.message, aboutOf(during))
      case 'notification':
        return notify(read.message, aboutOf(during))
      case 'response':
        return gate.recordServerFault(served.name, 'answered_unasked')
    }
  }

  async function ask({ id, method, params }: Request, about: RequestId | null): Promise<void> {
    const kind = askOf(method)
    if (kind === 'ping') return connection().tell(resultOctets(id, '{}'), NO_HEAD)
    const passed = kind !== null && served.asks[kind] === 'pass' && !asked.has(id.key)
    const ask = { server: served.name, method, agent: parts.agent(), passed }
    if (!(await gate.recordServerAsk(ask)) || !passed) {
      const error = { code: -32601, message: `${method} is not passed on to clients` }
      return connection().tell(errorOctets(id, JSON.stringify(error)), NO_HEAD)
    }
    asked.set(id.key, id)
    const text = withMeta(params.members, served.meta.to_client, tokenIn(params.members))
    client.send(requestOctets(id.text, method, text), about)
  }

  async function notify({ method, params }: Notification, about: RequestId | null): Promise<void> {
    if (!serverMayNotify(method)) {
      return gate.recordServerFault(served.name, 'notification_unknown')
    }
    if (method === 'notifications/tools/list_changed') definitions.stale()
    if (method === 'notifications/cancelled') {
      const id = params.members.find(({ name }) => name === 'requestId')
      if (id !== undefined) forget(id.value)
    }
    if (method === 'notifications/progress') {
      const token = params.members.find(({ name }) => name === PROGRESS_TOKEN)
      const flight = token === undefined ? undefined : flights.withId(Number(token.value))
      // Progress of something that is over, or that nobody asked to be told of.
      if (flight === undefined || flight.progressToken === null) return
      const mapped = params.members.map((member) =>
        member.name === PROGRESS_TOKEN ? named(PROGRESS_TOKEN, `${flight.progressToken}`) : member,
      )
      client.send(notificationOctets(method, cleaned(mapped)), flight.client)
      return
    }
    const subscription = metaMembers(params.members).find(({ name }) => name === SUBSCRIPTION)
    const subscriber = flights.withId(Number(subscription?.value))?.client ?? null
    // Of a subscription that is over: it may have been another client's.
    if (subscription !== undefined && subscriber === null) return
    const text = params.members.length === 0 ? '' : cleaned(params.members)
    client.send(notificationOctets(method, text), about ?? subscriber)
  }

  /** `_meta` as the client may see it, under the client's own names. */
  function cleaned(members: readonly Member[]): string {
    return withMeta(members.map(renamed), served.meta.to_client)
  }

  function renamed(member: Member): Member {
    if (member.name !== '_meta' || !member.value.startsWith('{')) return member
    const inner = membersOf(member.value).map((one) => {
      const flight = one.name === SUBSCRIPTION ? flights.withId(Number(one.value)) : undefined
      return flight === undefined ? one : named(SUBSCRIPTION, flight.client.text)
    })
    return named('_meta', `{${inner.map(({ text }) => text).join(',')}}`)
  }

  function forget(idText: string): void {
    for (const [key, id] of asked) if (id.text === idText) asked.delete(key)
  }

  return {
    message(octets: Uint8Array, during: number | null): void {
      order = order
        .then(() => deliver(octets, during))
        .catch((error: unknown) =>
          gate.report({ level: 'error', event: 'server_message_lost', detail: String(error) }),
        )
    },
    cleaned,
    /** The client's answer to a request of the server; false for one that nobody asked for. */
    answered(id: RequestId): boolean {
      return asked.delete(id.key)
    },
    settled: (): Promise<void> => order,
  }
}

const named = (name: string, value: string): Member => ({
  name,
  value,
  text: `${JSON.stringify(name)}:${value}`,
})

/** The server's own token for the progress of what it asks: it comes back to it as it is. */
const tokenIn = (members: readonly Member[]): readonly string[] =>
  metaMembers(members)
    .filter(({ name }) => name === PROGRESS_TOKEN)
    .map(({ text }) => text)
