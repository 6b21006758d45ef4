import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createStdioServer } from '../../../src/adapters/stdio/server.js'
import type { McpCall } from '../../../src/core/call/call.js'
import { executedAction, type JudgedCall } from '../../../src/core/call/executed.js'
import { match } from '../../../src/core/manifest/route/match.js'
import { readMessage, requestOctets } from '../../../src/core/mcp/message.js'
import { createMemory, DEFAULT_MEMORY } from '../../../src/gate/memory.js'
import { dispatchOver } from '../../../src/mounts/mcp/call/dispatch.js'
import { readCall } from '../../../src/mounts/mcp/call/read-call.js'
import { createFlights } from '../../../src/mounts/mcp/flights.js'
import type { Served } from '../../../src/mounts/mcp/options.js'
import { type Dispatched, notSent } from '../../../src/ports/dispatch.js'
import type { McpConnection, McpServer } from '../../../src/ports/mcp.js'
import { alteringServer } from '../../support/altering.js'
import { draws } from '../../support/draws.js'
import { routed, routerOf } from '../../support/manifests.js'

const ROUTER = routerOf(`id: com.acme.desk
server: desk
tools:
  pay: {args: {amount: decimal}}
  any: {match: {tool: "*"}, also: {body: any}}
  prompts: {match: {prompt: "*"}, also: {body: any}}
  pages: {match: {resource: "*"}}
  methods: {match: {method: "*"}, also: {body: any}}
`)
const CALLER = { bearer: null, certificate: null, asserted: 'bot', source: 'stdio' } as const

/** A client's request, judged as the mount has read it. */
function judged(method: string, params: string): JudgedCall | null {
  const read = readMessage(requestOctets(1, method, params), 1 << 20)
  if (!read.ok || read.message.kind !== 'request') return null
  const own = readCall(read.message, new Set())
  if (!own.ok) return null
  const call: McpCall = {
    kind: 'mcp',
    server: 'desk',
    ...own.call,
    definition: null,
    caller: CALLER,
  }
  const found = match(ROUTER, call)
  return found.ok
    ? {
        call: routed(call),
        rule: { ...found.route.rule, intent: 'required' },
        router: ROUTER,
      }
    : null
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
const stdio = (): McpServer =>
  createStdioServer({
    name: 'desk',
    command: process.execPath,
    args: [join(import.meta.dirname, '../../adapters/stdio/server.mjs'), 'echo'],
    env: {},
    maxMessageBytes: 1 << 20,
    stderr: () => undefined,
    report: () => undefined,
  })

function dispatch({ call, rule }: JudgedCall, connection: McpConnection, to: McpServer) {
  const asks = {
    sampling: 'refuse',
    elicitation: 'refuse',
    roots: 'refuse',
    tasks: 'refuse',
  } as const
  const meta = { to_server: new Set<string>(), to_client: new Set<string>() }
  const served: Served = { name: 'desk', to, trusted: false, asks, meta }
  const gate = { memory: createMemory(DEFAULT_MEMORY) }
  const headOf = () => ({ method: null, name: null, protocolVersion: null, params: [] })
  const flight = createFlights().open({ text: '1', key: 'n1' }, '"p"', null)
  const order = { actionId: 'a', call, rule, stillAllowed: () => true, saltedDigest: null }
  return dispatchOver({ gate, served, connection: () => connection, headOf }, flight)(order)
}

async function throughProcess(call: JudgedCall, to: McpServer): Promise<Dispatched> {
  const connection = to.connect({
    message: () => undefined,
    fault: () => undefined,
    closed: () => undefined,
  })
  closing.push(() => connection.close())
  return dispatch(call, connection, to)
}

const PAY = '{"name":"pay","arguments":{"amount":"1.00"},"_meta":{"progressToken":"p"}}'
const pay = judged('tools/call', PAY) as JudgedCall

describe('what a call to an MCP server says that was written', () => {
  it('has the action that was judged', async () => {
    const { observation, wrote } = await throughProcess(pay, stdio())
    expect(observation.kind).toBe('complete')
    expect(wrote && executedAction(wrote, pay)).toBe('desk.pay')
  })

  it('is not asked for where the rule wants no intent', async () => {
    const { intent: _, ...rule } = pay.rule
    const left = await throughProcess({ ...pay, rule }, stdio())
    expect(left.observation.kind).toBe('complete')
    expect(left).not.toHaveProperty('wrote')
  })

  it.each([
    ['another amount', '1.00', '9.00'],
    ['another tool', '"pay"', '"payout"'],
    ['another method', 'tools/call', 'prompts/get'],
  ])('tells that behind the judgement it was altered: %s', async (_, from, to) => {
    const altered = alteringServer(stdio(), (octets) =>
      Buffer.from(Buffer.from(octets).toString().replace(from, to)),
    )
    const { observation, wrote } = await throughProcess(pay, altered)
    expect(observation.kind).toBe('complete')
    expect(wrote && executedAction(wrote, pay)).toBeNull()
  })

  const member = fc.constantFrom('name', 'uri', 'arguments', 'taskId', 'task', 'cursor', 'é"\\')
  const space = fc.constantFrom('', ' ', '\n', '\t\r\n')
  const value = fc.oneof(
    fc.constantFrom('"pay"', '"a/b"', '"file:///a"', '"é\\u00e9\\ud83d\\ude00"', '1e2', '{ }'),
    fc.json(),
  )
  const params = fc
    .uniqueArray(fc.tuple(member, value, space), { selector: ([name]) => name, maxLength: 5 })
    .map((members) =>
      members.map(([name, text, gap]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${text}${gap}`),
    )
    .map((members) => `{${members.join(',')}}`)
  const method = fc.constantFrom(
    ...['tools/call', 'prompts/get', 'resources/read', 'tasks/get', 'completion/complete'],
  )

  it('has it for every request that the mount reads, however it is spelled', async () => {
    let read = 0
    await fc.assert(
      fc.asyncProperty(method, params, async (asked, text) => {
        const call = judged(asked, text)
        fc.pre(call !== null)
        if (call === null) return
        read++
        const connection: McpConnection = {
          async request({ octets }, { wrote }) {
            wrote?.(octets)
            return { kind: 'none', observation: notSent('test') }
          },
          tell: () => undefined,
          close: async () => undefined,
        }
        const { wrote } = await dispatch(call, connection, stdio())
        expect(wrote && executedAction(wrote, call)).toBe(call.rule.action)
      }),
      { numRuns: draws(5_000, 500) },
    )
    expect(read).toBeGreaterThan(100)
  })
})
