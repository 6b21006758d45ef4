import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RunningGate } from '../../src/app/open-gate.js'
import { type LineClient, lineClient } from '../support/mcp/lines.js'
import { message, problemIn } from '../support/mcp/messages.js'
import { type Manner, type Scripted, scripted } from '../support/mcp/scripted.js'
import { type Rig, rig, TOKEN } from '../support/rig.js'
import { POLICIES } from '../support/verdict-scenarios.js'
import { type Clients, clientsOnStdio, clientsOverHttp } from './approval-over-mcp.js'
import { MCP_MANIFEST } from './verdict-ways-mcp.js'

/** Rows that come about in more than one way on MCP, each with one capsule. */
const MOUNTS: Record<string, (gate: RunningGate, server: Scripted) => Promise<Clients>> = {
  'a wrapped MCP server': clientsOnStdio,
  'MCP over HTTP': clientsOverHttp,
}
const ARGS = '{"order":"o-1","currency":"EUR","amount":"5"}'
const refund = () => message('tools/call', 'create_refund', ARGS)

let server: Scripted
let at: Rig
beforeEach(async () => {
  server = await scripted()
  at = await rig({ manifest: MCP_MANIFEST, policies: POLICIES })
})
afterEach(async () => {
  await at.close()
  await server.close()
})
const recorded = async (): Promise<unknown[]> =>
  (await at.capsules()).map(({ capsule: { disposition, effect } }) => [
    disposition.verdict_class,
    (effect as { status: string } | undefined)?.status ?? 'none',
  ])
const codeOf = (text: string): unknown => problemIn(text)?.code ?? null

describe.each(Object.entries(MOUNTS))('through %s', (_, open) => {
  let clients: Clients
  beforeEach(async () => {
    clients = await open(at.gate, server)
  })
  afterEach(() => clients.close())

  it.each<[Manner, string, string]>([
    ['says_is_error', 'executed', 'failed'],
    ['says_bad_params', 'executed', 'failed'],
    ['says_error', 'errored', 'failed'],
    ['wants_input', 'executed', 'dispatched'],
    ['gives_a_task', 'executed', 'dispatched'],
  ])('a server that %s', async (manner, verdict, effect) => {
    server.manner = manner
    expect(codeOf(await clients.ask(refund(), 'support-bot'))).toBeNull()
    expect(await recorded()).toEqual([[verdict, effect]])
  })

  it('a parameter that is neither the tool’s nor the protocol’s', async () => {
    const sent = message('tools/call', 'create_refund', ARGS, { more: ['"dryRun":true'] })
    expect(codeOf(await clients.ask(sent, 'support-bot'))).toBe('request_malformed')
    expect(await recorded()).toEqual([['denied', 'none']])
    expect(server.calls).toEqual([])
  })

  it('a resource under a second spelling, and one that no rule names', async () => {
    for (const [uri, code] of [
      ['note://a/%2e%2e/b', 'target_malformed'],
      ['note://a/../b', 'target_malformed'],
      ['file:///etc/passwd', 'tool_unknown'],
    ] as const) {
      const told = await clients.ask(message('resources/read', uri, null), 'support-bot')
      expect(codeOf(told)).toBe(code)
    }
    expect(await recorded()).toHaveLength(3)
  })

  it('a tool that was pinned: out of reach is not changed, and no longer listed is', async () => {
    await clients.ask(refund(), 'support-bot')
    await clients.close()
    const gone = {
      ...server,
      command: { command: '/nowhere/pay', args: [] },
      url: 'http://127.0.0.1:9/mcp',
    }
    clients = await open(at.gate, gone)
    expect(codeOf(await clients.ask(refund(), 'support-bot'))).toBe('upstream_unreachable')
    await clients.close()
    server.manner = 'lists_nothing'
    clients = await open(at.gate, server)
    expect(codeOf(await clients.ask(refund(), 'support-bot'))).toBe('tool_changed')
    expect(await recorded()).toEqual([
      ['executed', 'confirmed'],
      ['engine_failure', 'none'],
      ['denied', 'none'],
    ])
    expect(server.calls).toHaveLength(1)
  })
})

describe('messages that are none, on a pipe', () => {
  let client: LineClient
  beforeEach(async () => {
    const caller = { bearer: TOKEN, certificate: null, asserted: null, source: 'stdio' }
    client = await lineClient(at.gate, server.command, caller)
  })
  afterEach(() => client.close())

  it.each([
    ['a batch', `[${refund().text}]`],
    ['a name twice', refund().text.replace('"order":"o-1"', '"order":"o-1","order":"o-2"')],
    ['a method twice', refund().text.replace('"params"', '"method":"ping","params"')],
    ['no JSON', '{"jsonrpc"'],
  ])('%s', async (_, text) => {
    expect(codeOf(await client.askUnread(text))).toBe('request_malformed')
    expect(await recorded()).toEqual([['denied', 'none']])
    expect(server.calls).toEqual([])
  })

  it('an id that is not answered yet', async () => {
    server.manner = 'is_silent'
    const { id, text } = refund()
    const first = client.ask(id, text)
    await server.reached
    expect(codeOf(await client.askUnread(text))).toBe('request_malformed')
    expect(codeOf(String(await first))).toBe('deadline_after_dispatch')
    expect(server.calls).toHaveLength(1)
    expect(await recorded()).toEqual([
      ['denied', 'none'],
      ['timeout', 'dispatched'],
    ])
    // The id is free again.
    server.manner = 'answers'
    expect(codeOf(String(await client.ask(id, text)))).toBeNull()
  })

  it('a call that is taken back after it was sent is cut, and its answer reaches nobody', async () => {
    server.manner = 'is_silent'
    const { id, text } = refund()
    const first = client.ask(id, text)
    await server.reached
    await client.cancel(id)
    expect(await first).toBeNull()
    while ((await at.capsules()).length === 0) await new Promise((go) => setImmediate(go))
    expect(await recorded()).toEqual([['errored', 'dispatched']])
  })
})
