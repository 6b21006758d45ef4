import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { Caller } from '../../src/core/call/call.js'
import type { Seam } from '../../src/gate/context.js'
import { ask, rawClient } from '../mounts/proxy/harness.js'
import type { FakeTime } from '../support/approvals.js'
import { type LineClient, lineClient } from '../support/mcp/lines.js'
import {
  type Message,
  message,
  messageIn,
  OWN,
  ofServer,
  postOf,
  problemIn,
} from '../support/mcp/messages.js'
import type { Scripted } from '../support/mcp/scripted.js'
import { mcpListener } from '../support/mcp/web.js'
import { nextRequest } from '../support/next-request.js'
import { OTHER_TOKEN, rig, TOKEN } from '../support/rig.js'
import { DECLARING, type Mounted, type Sent, type Told } from './approval-conformance.js'

type As = NonNullable<Sent['as']>
/** Clients of one mount on one gate, by the agent that they are. */
export type Clients = {
  ask(message: Message, as: As): Promise<string>
  /** Sends it and does not stay: resolves when it has left the client, to what takes it back. */
  askAnd(message: Message, as: As): Promise<{ leave(): Promise<void> }>
  /** A client of the support bot that agreed on an earlier revision by `initialize`. */
  initialized(version: string, capabilities: object): Promise<(sent: Message) => Promise<string>>
  close(): Promise<void>
}
export type McpFront = Pick<Mounted, 'sendNothing'> & {
  open(gate: RunningGate): Promise<Clients>
  readonly seam?: (name: Seam) => void | Promise<void>
}

/** The suite's refunds as calls of a tool of an MCP server; a restart closes mount and gate, and opens both anew. */
export async function overMcp(
  time: FakeTime,
  rules: { manifest: string; policies: string },
  server: Scripted,
  front: McpFront,
): Promise<Mounted & { readonly clients: Clients }> {
  const dir = mkdtempSync(join(tmpdir(), 'gate-conformance-'))
  const { seam = () => undefined } = front
  const mandateIssuers = DECLARING.options
  const options = { clock: time.clock, timer: time.timer, seam, mandateIssuers }
  const open = async (more: Partial<typeof rules>) => {
    const { manifest, policies } = { ...rules, ...more }
    const at = await rig({ manifest: ofServer(manifest), policies, ...options }, dir)
    return { at, clients: await front.open(at.gate) }
  }
  let running = await open({})
  return {
    get gate() {
      return running.at.gate
    },
    get clients() {
      return running.clients
    },
    send: async (call) => told(await running.clients.ask(messageOf(call), asOf(call)), server),
    sendAnd: (call) => running.clients.askAnd(messageOf(call), asOf(call)),
    reached: () => server.calls.length,
    sendNothing: front.sendNothing,
    capsules: () => running.at.capsules(),
    async restart(more = {}) {
      await running.clients.close()
      await running.at.gate.close()
      running = await open(more)
    },
    async close() {
      await running.clients.close()
      await running.at.close()
      await server.close()
    },
  }
}

const asOf = ({ as = 'support-bot' }: Sent): As => as
const messageOf = ({ amount, order = 'o-1', waitSeconds, ...more }: Sent): Message =>
  message('tools/call', 'create_refund', JSON.stringify({ order, currency: 'EUR', amount }), {
    ...(waitSeconds === undefined ? {} : { wait: waitSeconds }),
    idempotencyKey: more.idempotencyKey ?? null,
    approvalId: more.approvalId ?? null,
    ...(more.declared === undefined ? {} : { declared: more.declared }),
  })

/** `_meta` and problem document must tell the same story, and a success must be the server's own words. */
function told(text: string, server: Scripted): Told {
  const { result } = JSON.parse(text) as {
    result: { isError?: boolean; content: { text: string }[]; _meta: { [name: string]: string } }
  }
  const problem = problemIn(text)
  const capsuleId = result._meta[`${OWN}capsule`] ?? null
  // Each request has an id of its own, which says nothing.
  const wire = text.replace(/^\{"jsonrpc":"2\.0","id":\d+/, '')
  if (problem === null) {
    expect(result.content.map((part) => part.text)).toEqual([server.text])
    return { status: 200, code: null, approvalId: null, capsuleId, wire }
  }
  expect([result.isError, result.content[0]?.text]).toEqual([true, problem.detail])
  expect(problem.capsule_id ?? null).toBe(capsuleId)
  const { approval_id, differs_at } = problem
  return {
    status: Number(problem.status),
    code: String(problem.code),
    approvalId: typeof approval_id === 'string' ? approval_id : null,
    capsuleId,
    differsAt: typeof differs_at === 'string' ? differs_at : null,
    wire,
  }
}

const initialize = (protocolVersion: string, capabilities: object): Message =>
  message('initialize', '', null, {
    era: 'legacy',
    more: [
      `"protocolVersion":${JSON.stringify(protocolVersion)}`,
      `"capabilities":${JSON.stringify(capabilities)}`,
      '"clientInfo":{"name":"test","version":"1"}',
    ],
  })

const callerWith = (as: As): Caller => ({
  bearer: as === 'support-bot' ? TOKEN : OTHER_TOKEN,
  certificate: null,
  asserted: null,
  source: 'stdio',
})

/** A process and two pipes for each agent. */
export async function clientsOnStdio(gate: RunningGate, server: Scripted): Promise<Clients> {
  const open: Record<As, LineClient> = {
    'support-bot': await lineClient(gate, server.command, callerWith('support-bot')),
    'other-bot': await lineClient(gate, server.command, callerWith('other-bot')),
  }
  const ask: Clients['ask'] = async ({ id, text }, as) => String(await open[as].ask(id, text))
  return {
    ask,
    async askAnd(sent, as) {
      ask(sent, as).catch(() => undefined)
      return { leave: () => open[as].cancel(sent.id) }
    },
    async initialized(version, capabilities) {
      await ask(initialize(version, capabilities), 'support-bot')
      return (sent) => ask(sent, 'support-bot')
    },
    async close() {
      for (const client of Object.values(open)) await client.close()
    },
  }
}

/** Each request on a connection of its own. */
export async function clientsOverHttp(gate: RunningGate, server: Scripted): Promise<Clients> {
  const { port, close } = await mcpListener(gate, server.url)
  const tokenOf = (as: As): string | null => callerWith(as).bearer
  return {
    async ask(sent, as) {
      const { headers, body } = await ask(port, postOf(sent, tokenOf(as)))
      return messageIn(headers.get('content-type'), body.toString('utf8'))
    },
    async askAnd(sent, as) {
      const taken = nextRequest()
      const client = await rawClient(port)
      client.send(postOf(sent, tokenOf(as)))
      const socket = await taken
      return {
        async leave() {
          const closed = once(socket, 'close')
          client.socket.destroy()
          await closed
        },
      }
    },
    async initialized(version, capabilities) {
      const unmarked = { method: '', name: '' }
      const first = { ...initialize(version, capabilities), ...unmarked }
      const { headers } = await ask(port, postOf(first, TOKEN))
      const session = `mcp-session-id: ${headers.get('mcp-session-id')}`
      return async (sent) => {
        const answer = await ask(port, postOf({ ...sent, ...unmarked }, TOKEN, [session]))
        return messageIn(answer.headers.get('content-type'), answer.body.toString('utf8'))
      }
    },
    close,
  }
}
