import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createStdioServer } from '../../../src/adapters/stdio/server.js'
import { DEFAULT_TERMS, servedAs } from '../../../src/app/mcp/served.js'
import { governedProxy, gate as guarding } from '../../../src/express.js'
import { createSession } from '../../../src/mounts/mcp/session.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { createProxy } from '../../../src/mounts/proxy/server.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { listen } from '../../support/listen.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { OTHER_TOKEN, type Rig, rig, sending, TOKEN, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'
import { ask as askRaw } from '../proxy/harness.js'

/** What an agent may do now, asked of the gate itself on every mount: no capsule, and nothing for strangers. */
type Told = { readonly status: number; readonly body: { readonly [name: string]: unknown } }
type Ask = (mandates: readonly string[], token?: string) => Promise<Told>
type Mount = { readonly ask: Ask; close(): Promise<void> }

const issuer = mandateIssuer()
let at: Rig
let server: RawUpstream
const rules = { manifest: BOOKING, policies: BOOKING_POLICIES, mandateIssuers: issuer.options }
beforeAll(async () => {
  at = await rig(rules)
  server = await rawUpstream(fine)
})
afterAll(async () => {
  await server.close()
  await at.close()
})

const over =
  (port: number): Ask =>
  async (mandates, token = TOKEN) => {
    const shown = mandates.map((mandate) => `agent-mandate: ${mandate}\r\n`).join('')
    const answer = await askRaw(
      port,
      `GET /.gate/v1/transitions HTTP/1.1\r\nhost: gate\r\nconnection: close\r\nauthorization: Bearer ${token}\r\n${shown}\r\n`,
    )
    return { status: answer.status, body: JSON.parse(answer.body.toString()) }
  }

async function throughProxy(): Promise<Mount> {
  const proxy = createProxy({
    gate: at.gate,
    upstreams: new Map(),
    passThrough: [],
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => undefined,
  })
  const { port } = await proxy.listen(0, '127.0.0.1')
  return { ask: over(port), close: () => proxy.close(0) }
}

async function throughMiddleware(): Promise<Mount> {
  const app = express()
  app.use(guarding(at.gate) as never, (_req, res) => {
    res.status(500).json({ reached: true })
  })
  const { port, close } = await listen(app)
  return { ask: over(port), close }
}

async function throughGovernedProxy(): Promise<Mount> {
  const proxy = governedProxy({ gate: at.gate, target: server.origin })
  const app = express()
  app.use(proxy as never)
  const { port, close } = await listen(app)
  return {
    ask: over(port),
    async close() {
      await close()
      await proxy.close()
    },
  }
}

async function throughMcp(): Promise<Mount> {
  const to = createStdioServer({
    name: 'echo',
    command: process.execPath,
    args: [join(import.meta.dirname, '../mcp/echo-server.mjs')],
    env: {},
    maxMessageBytes: 64 * 1024,
    stderr: () => undefined,
    report: at.gate.report,
  })
  const session = createSession(
    servedAs('echo', DEFAULT_TERMS, to),
    { send: () => undefined },
    { gate: at.gate, hashing: nodeCrypto, messageBytes: 64 * 1024, approvalLink: () => null },
  )
  return {
    async ask([first, second], token = TOKEN) {
      const caller = { bearer: token, certificate: null, asserted: null, source: 'stdio' }
      const declared = { intents: [], mandates: second === undefined ? [] : [second] }
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        ...(first === undefined ? {} : { 'dev.capsulegate/mandate': first }),
      }
      const method = 'dev.capsulegate/transitions'
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: meta } })
      const sender = { caller, identified: await at.gate.identify(caller), declared }
      const reply = await session.handle(Buffer.from(text), sender)
      const { result, error } = JSON.parse(Buffer.from(reply?.octets ?? []).toString())
      return result === undefined
        ? { status: error.code, body: error.data }
        : { status: 200, body: result }
    },
    async close() {
      await session.close()
      await to.close()
    },
  }
}

describe.each([
  ['reverse proxy', throughProxy],
  ['Express middleware', throughMiddleware],
  ['Express governed proxy', throughGovernedProxy],
  ['MCP', throughMcp],
])('what is open, asked through the %s', (_, open) => {
  let mount: Mount
  let steps: Steps
  let booking = 0
  beforeAll(async () => {
    mount = await open()
  })
  afterAll(() => mount.close())
  beforeEach(() => {
    steps = stepsOf(issuer, { booking: `${mount.ask.length}-${open.name}-${++booking}` })
  })

  const act = async (action: 'CloseBooking' | 'ReadBooking', more = {}) => {
    const upstream = upstreamTo(server.origin)
    const declared = carried(steps.standard(action, more), steps.mandate)
    const made = bookingCall(action, steps.booking, declared)
    const answer = await at.gate.govern(made, sending(upstream, made))
    await upstream.close()
    return answer
  }

  it('follows object, session and mission, and leaves no capsule', async () => {
    steps = stepsOf(issuer, { booking: steps.booking, claims: { mission_ref: MISSION } })
    const before = (await at.lines()).length
    const asked = await mount.ask([steps.mandate])
    expect(asked).toMatchObject({
      status: 200,
      body: {
        so_id: steps.soId,
        so_type: 'booking',
        state: 'created',
        actions: ['AdvanceMissionStage', 'CloseBooking', 'ProcessPayment', 'ReadBooking'],
        session: null,
        mission: null,
      },
    })
    expect(asked.body).not.toHaveProperty('hint')
    expect(await at.lines()).toHaveLength(before)
    expect(await act('CloseBooking', { mission_ref: MISSION })).toMatchObject({ code: 'executed' })
    expect((await mount.ask([steps.mandate])).body).toMatchObject({
      state: 'closed',
      actions: ['AdvanceMissionStage', 'ReadBooking'],
      session: { session_id: steps.sessionId, last_step: 1, held_by: null },
    })
    const waits = await act('ReadBooking', { mission_ref: MISSION, hem_urgency: 'REQUIRED' })
    expect(waits).toMatchObject({ kind: 'pending' })
    expect((await mount.ask([steps.mandate])).body).toMatchObject({
      session: { last_step: 2, held_by: 'approvalId' in waits ? waits.approvalId : '' },
    })
  })

  it('is told to nobody without the mandate, or with what is none of theirs', async () => {
    const foreign = mandateIssuer().mandate({ sub: 'support-bot' })
    const told = [
      await mount.ask([]),
      await mount.ask([foreign]),
      await mount.ask(['a.b.c']),
      await mount.ask([steps.mandate], OTHER_TOKEN),
      await mount.ask([steps.mandate, `${steps.mandate}x`]),
    ]
    expect(told.map(({ status, body }) => [status, body.code])).toEqual([
      [401, 'mandate_missing'],
      [401, 'mandate_invalid'],
      [401, 'mandate_invalid'],
      [401, 'mandate_invalid'],
      [400, 'mandate_malformed'],
    ])
    const words = JSON.stringify(told)
    for (const own of [steps.soId, steps.sessionId, 'created', 'ReadBooking', 'support-bot']) {
      expect(words).not.toContain(own)
    }
  })

  it('is told so often and no more', async () => {
    const told: Told[] = []
    for (let i = 0; i < 21; i++) told.push(await mount.ask([steps.mandate]))
    const [last] = told.splice(-1)
    expect(told.filter(({ body }) => (body.actions as string[]).length !== 4)).toEqual([])
    expect(last).toMatchObject({ status: 200, body: { state: 'created', actions: [] } })
    expect(last?.body.hint).toContain('again in a minute')
    // A refusal of the same session says nothing more either.
    expect(await act('CloseBooking', { confidence_level: 0.1 })).toMatchObject({
      problem: { code: 'policy_denied', available_actions: [] },
    })
  })
})

it('is no question of a caller that nobody knows, nor of another method or path', async () => {
  const proxy = await throughProxy()
  const { mandate } = stepsOf(issuer)
  expect((await proxy.ask([mandate], 'no such token')).status).toBe(401)
  await proxy.close()
})
