import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { objectIdOf } from '../../src/core/intent/object-id.js'
import type { Way } from '../e2e/verdict-table.js'
import { throughDecide } from '../e2e/verdict-way-decide.js'
import {
  throughFetch,
  throughFunction,
  throughGovernedProxy,
  throughMiddleware,
  throughProxy,
} from '../e2e/verdict-ways.js'
import { throughMcpHttp, throughMcpStdio } from '../e2e/verdict-ways-mcp.js'
import { AGENT, carried, MISSION, mandateIssuer, stepsOf } from '../support/intents.js'
import { ofServer } from '../support/mcp/messages.js'
import { type Rig, rig } from '../support/rig.js'
import { SCENARIOS } from '../support/verdict-scenarios.js'

/** What a declared call stands on ends between the judgement and the first byte: nothing is sent. */
const MANIFEST = `
id: com.acme.refunds
object:
  type: refund
  id: order
  states: [open, done, disputed]
  transitions:
    create_refund: {from: [open, done], to: done}
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    intent: required
    hitl: {on_approval: retry}
`
const POLICIES = '@id("all") permit (principal == Agent::"support-bot", action, resource);'
const PLAIN = MANIFEST.replace(/^ {4}match: .*\n/m, '')
const MCP = ofServer(MANIFEST)
const issuer = mandateIssuer()
const CALL = SCENARIOS.executed.call
const ORDER = JSON.parse(Buffer.from(Object(CALL.body).bytes).toString('utf8')).order as string
const SO_ID =
  objectIdOf(
    { type: 'refund', id: '{order}' },
    new Map([['order', { type: 'string', value: ORDER }]]),
    nodeCrypto,
  ) ?? ''

const WAYS: Record<string, { open(gate: RunningGate): Promise<Way>; manifest: string }> = {
  'the proxy': { open: throughProxy, manifest: MANIFEST },
  middleware: { open: throughMiddleware, manifest: MANIFEST },
  governedProxy: { open: throughGovernedProxy, manifest: MANIFEST },
  'a wrapped function': { open: throughFunction, manifest: PLAIN },
  'a permit': { open: throughDecide, manifest: PLAIN },
  'the gated fetch': { open: throughFetch, manifest: MANIFEST },
  'a wrapped MCP server': { open: throughMcpStdio, manifest: MCP },
  'MCP over HTTP': { open: throughMcpHttp, manifest: MCP },
}

type Session = ReturnType<typeof session>
/** A session of one mandate, with declared refunds in it. */
function session() {
  const claims = { so_id: SO_ID, cedar_actions: ['create_refund'], mission_ref: MISSION }
  const steps = stepsOf(issuer, { claims })
  const call = (): HttpCall => {
    const more = { so_id: SO_ID, mission_ref: MISSION }
    const declared = carried(steps.standard('create_refund', more), steps.mandate)
    return { ...CALL, idempotencyKey: randomUUID(), declared }
  }
  return { ...steps, call }
}

/** What ends, and by which code the next call of it is refused; null: it goes on. */
const TURNS: Record<string, { turn(at: Rig, of: Session): Promise<unknown>; next: string | null }> =
  {
    'its session is closed': {
      turn: ({ gate }, { sessionId }) => gate.closeSession(sessionId, 'test'),
      next: 'session_over',
    },
    'its session is halted': {
      turn: ({ gate }, { sessionId }) => gate.halt({ kind: 'session', name: sessionId }, 'test'),
      next: 'halted',
    },
    'its mandate is revoked': {
      turn: ({ gate }, { jti }) => gate.revokeMandate(jti, 'test'),
      next: 'mandate_revoked',
    },
    'its mission is suspended': {
      turn: ({ gate }) => gate.setMission(MISSION, 'SUSPENDED', 'test'),
      next: 'mission_invalid',
    },
    'its object is set to another state': {
      turn: ({ gate }) => gate.setObject(SO_ID, 'disputed', 'test'),
      next: 'object_state_invalid',
    },
  }
const OTHERS: Record<string, (at: Rig) => Promise<unknown>> = {
  'another session is opened and closed': async ({ gate }) => {
    await gate.openSession({ sessionId: 'another', agent: AGENT, by: 'test' })
    await gate.closeSession('another', 'test')
  },
  'another mandate is revoked, mission suspended, object set': async ({ gate }) => {
    await gate.revokeMandate(randomUUID(), 'test')
    await gate.setMission(randomUUID(), 'SUSPENDED', 'test')
    await gate.setObject(randomUUID(), 'disputed', 'test')
  },
}

let at: Rig | null = null
let way: Way | null = null
afterEach(async () => {
  await way?.close()
  await at?.close()
})

async function start(
  { open, manifest }: (typeof WAYS)[string],
  turn: (at: Rig, of: Session) => Promise<unknown>,
) {
  let turning = false
  const of = session()
  const here = await rig({
    manifest,
    policies: POLICIES,
    mandateIssuers: issuer.options,
    seam: async (name) => {
      if (name !== 'before_first_byte' || !turning) return
      turning = false
      await turn(here, of)
    },
  })
  at = here
  const opened = await open(here.gate)
  way = opened
  await opened.behave({ code: 'executed', tool: undefined, cut: false })
  const reached = { yet: false }
  void opened.reached().then(() => {
    reached.yet = true
  })
  return {
    here,
    of,
    reached,
    ask: (call: HttpCall) => opened.ask(call, 'executed'),
    arm: () => {
      turning = true
    },
  }
}

describe.each(Object.entries(WAYS))('through %s', (_, under) => {
  it.each(Object.entries(TURNS))('%s', async (_name, { turn, next }) => {
    const { here, of, reached, ask, arm } = await start(under, turn)
    arm()
    const told = await ask(of.call())
    expect(told).toMatchObject({
      status: 503,
      problem: { code: 'judgement_stale', dispatched: false },
    })
    const again = await ask(of.call())
    expect(again?.problem).toMatchObject({ code: next })
    expect(reached.yet).toBe(false)
    const [capsule] = (await here.capsules()).map((line) => line.capsule)
    expect(capsule?.disposition).toMatchObject({ verdict_class: 'engine_failure' })
    expect(capsule?.effect).toBeUndefined()
    const types = (await here.lines()).map(({ type }) => type)
    expect(types).not.toContain('STATE_TRANSITIONED')
    expect(types).not.toContain('ACTION_RESULT_RECORDED')
  })

  it.each(Object.entries(OTHERS))('goes on where %s', async (_name, turn) => {
    const { of, ask, arm } = await start(under, turn)
    arm()
    expect((await ask(of.call()))?.status).toBe(200)
  })
})
