import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  AGENT,
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, type RigOptions, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

let at: Rig
let server: RawUpstream
let upstream: Upstream
let steps: Steps
const issuer = mandateIssuer()
const OPTIONS: RigOptions = {
  manifest: BOOKING,
  policies: BOOKING_POLICIES,
  mandateIssuers: issuer.options,
}

beforeEach(async () => {
  at = await rig(OPTIONS)
  steps = stepsOf(issuer)
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})

const call = (action: BookingAction, more: Claims = {}, of = steps) => {
  const made = bookingCall(action, of.booking, carried(of.standard(action, more), of.mandate))
  return at.gate.govern(made, sending(upstream, made))
}
const linesOf = async (type: string) => (await at.lines()).filter((line) => line.type === type)
const lastTypes = async (count: number): Promise<string[]> =>
  (await at.lines())
    .map(({ type }) => type)
    .filter((type) => type !== 'HEAD')
    .slice(-count)
const asking = { confidence_level: 0.7, hem_urgency: 'REQUIRED' }

describe('a session that an operator opens', () => {
  it('is its agent’s before the first declaration, once, and after a restart', async () => {
    const order = { sessionId: steps.sessionId, agent: AGENT, by: 'olga' }
    const both = await Promise.all([at.gate.openSession(order), at.gate.openSession(order)])
    expect(both.sort()).toEqual(['open', 'opened'])
    expect(await linesOf('SESSION_OPENED')).toHaveLength(1)
    expect(await at.gate.openSession({ ...order, agent: 'other-bot' })).toBe('foreign')
    at = await at.restart()
    expect(await at.gate.read.session(steps.sessionId)).toMatchObject({ agent: AGENT, lastStep: 0 })
    expect(await call('ReadBooking')).toMatchObject({ code: 'executed' })
    expect(await linesOf('SESSION_OPENED')).toHaveLength(1)
  })

  it('keeps another agent out', async () => {
    const order = { sessionId: steps.sessionId, agent: 'other-bot', by: 'olga' }
    expect(await at.gate.openSession(order)).toBe('opened')
    expect(await call('ReadBooking')).toMatchObject({ code: 'intent_session_mismatch' })
  })

  it('has one agent, whether an operator or a declaration is first', async () => {
    const order = { sessionId: steps.sessionId, agent: 'other-bot', by: 'olga' }
    const [answer, opening] = await Promise.all([call('ReadBooking'), at.gate.openSession(order)])
    const declaredFirst = opening === 'foreign'
    expect(answer).toMatchObject({
      code: declaredFirst ? 'executed' : 'intent_session_mismatch',
    })
    expect(await linesOf('SESSION_OPENED')).toHaveLength(1)
    const { agent } = Object(await at.gate.read.session(steps.sessionId))
    at = await at.restart()
    expect(await at.gate.read.session(steps.sessionId)).toMatchObject({ agent })
  })

  it('has who opened it in evidence and a pseudonym in its line', async () => {
    await at.gate.openSession({ sessionId: steps.sessionId, agent: AGENT, by: 'olga' })
    const [line] = await linesOf('SESSION_OPENED')
    expect(line).toMatchObject({ actor: at.gate.parts.tenant.voter('olga') })
    expect(JSON.stringify(line)).not.toContain('olga')
    const found = await at.gate.data.evidence.byDigest(String(line?.evidence_digest))
    expect(found).toMatchObject({ value: { value: { did: 'SESSION_OPENED', name: 'olga' } } })
  })
})

describe('a session that an operator closes', () => {
  it('is over for good, and never opens again', async () => {
    expect(await call('ReadBooking')).toMatchObject({ code: 'executed' })
    expect(await at.gate.closeSession('never-seen', 'olga')).toBe('unknown')
    const both = await Promise.all([
      at.gate.closeSession(steps.sessionId, 'olga'),
      at.gate.closeSession(steps.sessionId, 'otto'),
    ])
    expect(both.sort()).toEqual(['busy', 'closed'])
    expect(await linesOf('SESSION_CLOSED')).toMatchObject([
      { reason: 'operator', actor: at.gate.parts.tenant.voter('olga') },
    ])
    for (let restarts = 0; restarts < 2; restarts++) {
      expect(await call('ReadBooking')).toMatchObject({ code: 'session_over' })
      expect(await at.gate.closeSession(steps.sessionId, 'olga')).toBe('over')
      const order = { sessionId: steps.sessionId, agent: AGENT, by: 'olga' }
      expect(await at.gate.openSession(order)).toBe('over')
      expect(at.gate.read.sessions()).resolves.toEqual([])
      at = await at.restart()
    }
  })

  it('takes back what people are asked about its calls', async () => {
    const asked = await call('CloseBooking', asking)
    expect(asked).toMatchObject({ kind: 'pending' })
    expect(await at.gate.closeSession(steps.sessionId, 'olga')).toBe('closed')
    expect(await at.gate.read.approvals()).toEqual([])
    expect(await lastTypes(2)).toEqual(['SESSION_CLOSED', 'CAPSULE'])
    const [last] = (await at.capsules()).slice(-1)
    expect(last?.capsule.disposition).toMatchObject({
      verdict_class: 'resolved',
      approver: 'policy',
      human_disposed: false,
    })
  })

  it('takes back the question whether it goes on, in the append that ends it', async () => {
    steps = stepsOf(issuer, { claims: { mission_ref: MISSION } })
    for (let i = 0; i < 3; i++) await call('ReadBooking')
    expect(await at.gate.read.approvals()).toMatchObject([{ holds: 'session' }])
    expect(await at.gate.closeSession(steps.sessionId, 'olga')).toBe('closed')
    expect(await lastTypes(2)).toEqual(['CAPSULE', 'SESSION_CLOSED'])
    expect(await at.gate.read.approvals()).toEqual([])
    expect(await call('ReadBooking', { mission_ref: MISSION })).toMatchObject({
      code: 'session_over',
    })
  })

  it('is decided about by nobody, also where what people were asked still stands', async () => {
    await call('CloseBooking', asking)
    const [approval] = await at.gate.read.approvals()
    await at.gate.halt({ kind: 'session', name: steps.sessionId }, 'olga')
    expect(await at.gate.closeSession(steps.sessionId, 'olga')).toBe('closed')
    // What is halted does not end.
    expect(await at.gate.read.approvals()).toHaveLength(1)
    await at.gate.resume({ kind: 'session', name: steps.sessionId }, 'olga')
    expect(await at.gate.read.approvals()).toEqual([])
    expect(await at.gate.read.approval(approval?.approvalId ?? '')).toMatchObject({
      state: { kind: 'closed', verdict: 'resolved' },
    })
  })
})

describe('a mandate that an operator revokes', () => {
  it('serves no call any more, shown before or not, after a restart too', async () => {
    expect(await at.gate.revokeMandate(steps.jti, 'olga')).toBe(true)
    expect(await at.gate.revokeMandate(steps.jti, 'olga')).toBe(false)
    expect(await linesOf('MANDATE_REVOKED')).toMatchObject([{ mandate_id: steps.jti }])
    expect(await call('ReadBooking')).toMatchObject({ code: 'mandate_revoked' })
    at = await at.restart()
    expect(await call('ReadBooking')).toMatchObject({ code: 'mandate_revoked' })
    expect(await at.gate.read.revoked()).toEqual([steps.jti])
  })
})

describe('a mission that an operator sets', () => {
  it.each(['SUSPENDED', 'FAILED', 'ABANDONED'] as const)(
    'to %s stops its calls, and active lets them go on',
    async (phase) => {
      steps = stepsOf(issuer, { claims: { mission_ref: MISSION } })
      const declared = { mission_ref: MISSION }
      expect(await at.gate.setMission(MISSION, 'ACTIVE', 'olga')).toBe(false)
      expect(await at.gate.setMission(MISSION, phase, 'olga')).toBe(true)
      expect(await at.gate.setMission(MISSION, phase, 'olga')).toBe(false)
      at = await at.restart()
      expect(await call('ReadBooking', declared)).toMatchObject({ code: 'mission_invalid' })
      expect([...(await at.gate.read.missions())]).toEqual([[MISSION, phase]])
      expect(await at.gate.setMission(MISSION, 'ACTIVE', 'olga')).toBe(true)
      expect(await call('ReadBooking', declared)).toMatchObject({ code: 'executed' })
    },
  )
})

describe('an object that an operator sets', () => {
  it('is in that state, which has to be one that objects have', async () => {
    const wrong = await at.gate.setObject(steps.soId, 'nonsense', 'olga')
    expect(wrong).toEqual({ kind: 'no_such_state', states: expect.arrayContaining(['closed']) })
    expect(await linesOf('OBJECT_SET')).toHaveLength(0)
    expect(await at.gate.setObject(steps.soId, 'closed', 'olga')).toEqual({ kind: 'set' })
    expect(await at.gate.setObject(steps.soId, 'closed', 'olga')).toEqual({ kind: 'unchanged' })
    at = await at.restart()
    expect(await at.gate.read.object(steps.soId)).toMatchObject({ state: 'closed' })
    expect(await call('ProcessPayment')).toMatchObject({ code: 'object_state_invalid' })
  })
})

describe('a session that is halted', () => {
  it('sends nothing, and other sessions of its agent go on', async () => {
    const other = stepsOf(issuer, { booking: 'b-2' })
    await at.gate.halt({ kind: 'session', name: steps.sessionId }, 'olga')
    expect(await call('ReadBooking')).toMatchObject({ code: 'halted' })
    expect(await call('ReadBooking', {}, other)).toMatchObject({ code: 'executed' })
    at = await at.restart()
    expect(await call('ReadBooking')).toMatchObject({ code: 'halted' })
    await at.gate.resume({ kind: 'session', name: steps.sessionId }, 'olga')
    expect(await call('ReadBooking')).toMatchObject({ code: 'executed' })
  })
})
