import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createStdioServer } from '../../../src/adapters/stdio/server.js'
import { DEFAULT_TERMS, servedAs } from '../../../src/app/mcp/served.js'
import type { Call } from '../../../src/core/call/call.js'
import { EXCHANGE_LIMITS } from '../../../src/mounts/http/limits.js'
import { createMcpEndpoint } from '../../../src/mounts/mcp/http/endpoint.js'
import { createSession } from '../../../src/mounts/mcp/session.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { createProxy } from '../../../src/mounts/proxy/server.js'
import { type Rig, rig, TOKEN } from '../../support/rig.js'
import { MANIFEST } from './harness.js'

/** Intent and mandate of a call over MCP: in `_meta`, and over HTTP in the head of its POST. */
const POLICIES = `@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
const MESSAGE_BYTES = 64 * 1024
const seen: Call[] = []
let at: Rig
let port: number
let close: () => Promise<void>
/** The answer to one line over stdio. */
let line: (text: string) => Promise<string>

beforeAll(async () => {
  at = await rig({ manifest: MANIFEST, policies: POLICIES })
  const gate: typeof at.gate = {
    ...at.gate,
    govern: (call, ...rest) => {
      seen.push(call)
      return at.gate.govern(call, ...rest)
    },
  }
  const to = createStdioServer({
    name: 'echo',
    command: process.execPath,
    args: [join(import.meta.dirname, 'echo-server.mjs')],
    env: {},
    maxMessageBytes: MESSAGE_BYTES,
    stderr: () => undefined,
    report: gate.report,
  })
  const served = servedAs('echo', DEFAULT_TERMS, to)
  const options = {
    gate,
    hashing: nodeCrypto,
    messageBytes: MESSAGE_BYTES,
    approvalLink: () => null,
  }
  const session = createSession(served, { send: () => undefined }, options)
  const caller = { bearer: TOKEN, certificate: null, asserted: null, source: 'stdio' }
  const sender = { caller, identified: await gate.identify(caller) }
  line = async (text) => {
    const reply = await session.handle(Buffer.from(text), sender)
    return Buffer.from(reply?.octets ?? []).toString()
  }
  const beside = createMcpEndpoint({
    ...options,
    servers: new Map([['echo', served]]),
    body: EXCHANGE_LIMITS.body,
    sessions: { perAgent: 4, idleMs: 60_000 },
    loopback: true,
    scheme: 'http',
    issuers: [],
  })
  const limits = { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 }
  const report = () => undefined
  const proxy = createProxy({ gate, upstreams: new Map(), passThrough: [], beside, limits, report })
  port = (await proxy.listen(0, '127.0.0.1')).port
  close = async () => {
    await proxy.close(0)
    await beside.close(0)
    await session.close()
    await to.close()
    await at.close()
  }
}, 30_000)
afterAll(() => close())
beforeEach(() => {
  seen.length = 0
})

const VERSION = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
const ABILITIES = '"io.modelcontextprotocol/clientCapabilities":{}'
let id = 0
const message = (meta: readonly string[], text = 'all of it'): string =>
  `{"jsonrpc":"2.0","id":${++id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"${text}"},"_meta":{${[VERSION, ABILITIES, ...meta].join(',')}}}}`
const intent = (text: string): string => `"dev.capsulegate/intent":${text}`
const mandate = (text: string): string => `"dev.capsulegate/mandate":${text}`
const carried = (text: string | null, named: string | null) => ({
  kind: 'carried',
  intent: text === null ? null : new Uint8Array(Buffer.from(text)),
  mandate: named,
})

type Said = { readonly status: number; readonly text: string }
const post = (body: string, headers: readonly string[] = []): Promise<Said> =>
  new Promise((resolve, reject) => {
    const head = [
      ...['host', `127.0.0.1:${port}`, 'authorization', `Bearer ${TOKEN}`],
      ...['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))],
      ...['mcp-protocol-version', '2026-07-28', 'mcp-method', 'tools/call', 'mcp-name', 'echo'],
      ...['mcp-param-text', 'all of it', ...headers],
    ]
    const sent = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/mcp/echo',
      headers: head,
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (piece) => {
        text += String(piece)
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.end(body)
  })
/** What the server was sent, out of the answer. */
const toServer = (answer: string): string => JSON.parse(answer).result.content[0].text

describe.each([
  ['stdio', (text: string) => line(text)],
  ['HTTP', async (text: string) => (await post(text)).text],
])('_meta over %s', (_, ask) => {
  it('declares, octet by octet, and nothing of it goes to the server', async () => {
    const text = '{ "idp_id" : "\\u0061", "n":1.50, "m":{"x":[ 1 ]} }'
    const answer = await ask(message([intent(text), mandate('"a.b.c"')]))
    expect(seen.map(({ declared }) => declared)).toEqual([carried(text, 'a.b.c')])
    const sent = toServer(answer)
    expect(sent).toContain('io.modelcontextprotocol/protocolVersion')
    expect(sent).not.toMatch(/dev\.capsulegate|idp_id|a\.b\.c/)
  })

  it('keeps the line breaks that its sender wrote, where there are any', async () => {
    const text = '{\r\n  "a": 1\n}'
    await ask(message([intent(text)]))
    expect(seen[0]?.declared).toEqual(carried(text, null))
  })

  it('may name its keys as JSON can', async () => {
    await ask(
      message(['"dev.capsulegate\\/intent":{}', '"\\u0064ev.capsulegate/mandate":"a\\u002eb"']),
    )
    expect(seen[0]?.declared).toEqual(carried('{}', 'a.b'))
  })

  it('may hold one of the two; none leaves none', async () => {
    await ask(message([intent('{}')]))
    await ask(message([mandate('"m"')]))
    await ask(message([]))
    expect(seen.map(({ declared }) => declared)).toEqual([
      carried('{}', null),
      carried(null, 'm'),
      undefined,
    ])
    expect(seen[2]).not.toHaveProperty('declared')
  })

  it('that holds something else is never taken for none', async () => {
    await ask(message([intent('null'), mandate('null')]))
    await ask(message([intent('"e30"'), mandate('{"a":1}')]))
    expect(seen.map(({ declared }) => declared)).toEqual([
      carried('null', 'null'),
      carried('"e30"', '{"a":1}'),
    ])
  })

  it('that names a key twice is refused and recorded', async () => {
    const before = (await at.capsules()).length
    await ask(message([intent('{}'), intent('{}')]))
    expect(seen[0]).toMatchObject({ body: { kind: 'malformed', fault: 'message_names_twice' } })
    expect(await at.capsules()).toHaveLength(before + 1)
  })

  it('that is too long says so', async () => {
    await ask(message([intent(`{"a":"${'x'.repeat(6144)}"}`)]))
    expect(seen[0]?.declared).toMatchObject({ intent: null, fault: 'intent_too_long' })
  })
})

it('a question to the gate declares as a call does', async () => {
  const params = `"tool":"nobody","arguments":{},"_meta":{${[VERSION, ABILITIES, intent('{ }')].join(',')}}`
  const text = `{"jsonrpc":"2.0","id":${++id},"method":"dev.capsulegate/decide","params":{${params}}}`
  await line(text)
  expect(seen[0]).toMatchObject({ kind: 'function', tool: 'nobody' })
  expect(seen[0]?.declared).toEqual(carried('{ }', null))
})

describe('the head of a POST', () => {
  const encoded = (text: string): string => Buffer.from(text).toString('base64url')

  it('declares as any other head does', async () => {
    const { text } = await post(message([]), [
      ...['agent-intent', encoded('{ "a":1 }'), 'agent-mandate', 'm'],
    ])
    expect(seen.map(({ declared }) => declared)).toEqual([carried('{ "a":1 }', 'm')])
    expect(toServer(text)).not.toContain('agent-')
  })

  it('may say the same as _meta, and nothing else', async () => {
    const meta = [intent('{\n"a":1 }'), mandate('"m"')]
    await post(message(meta), ['agent-intent', encoded('{\n"a":1 }'), 'agent-mandate', 'm'])
    await post(message(meta), ['agent-intent', encoded('{ "a":1 }')])
    await post(message(meta), ['agent-mandate', 'n'])
    expect(seen.map(({ declared }) => declared)).toEqual([
      carried('{\n"a":1 }', 'm'),
      { ...carried(null, 'm'), fault: 'intent_carriers_differ' },
      { ...carried('{\n"a":1 }', null), fault: 'mandate_carriers_differ' },
    ])
  })

  it('may hold one and _meta the other', async () => {
    await post(message([intent('{}')]), ['agent-mandate', 'm'])
    await post(message([mandate('"m"')]), ['agent-intent', encoded('{}')])
    expect(seen.map(({ declared }) => declared)).toEqual([carried('{}', 'm'), carried('{}', 'm')])
  })

  it.each(['agent-intent', 'agent-mandate'])(
    'that has %s twice is refused and recorded',
    async (name) => {
      const before = (await at.capsules()).length
      const { status } = await post(message([]), [name, 'e30', name, 'e30'])
      expect(status).toBe(400)
      expect(seen[0]).toMatchObject({ body: { kind: 'malformed', fault: `header_twice:${name}` } })
      expect(await at.capsules()).toHaveLength(before + 1)
    },
  )
})
