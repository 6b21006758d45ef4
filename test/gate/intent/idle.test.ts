import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Upstream } from '../../../src/ports/upstream.js'
import { type FakeTime, fakeTime } from '../../support/approvals.js'
import {
  AGENT,
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

/** Sessions that nobody uses end by themselves, and no earlier than they may. */
const IDLE = 600
const issuer = mandateIssuer()
let time: FakeTime
let at: Rig
let server: RawUpstream
let upstream: Upstream
let steps: Steps

beforeEach(async () => {
  time = fakeTime()
  const { clock, timer } = time
  at = await rig({
    manifest: BOOKING,
    policies: BOOKING_POLICIES,
    mandateIssuers: issuer.options,
    sessionIdleSeconds: IDLE,
    clock,
    timer,
  })
  const { now } = clock
  steps = stepsOf(issuer, { now, claims: { exp: Math.floor(now() / 1000) + 100_000 } })
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})

const call = (action: BookingAction, more: Claims = {}) => {
  const made = bookingCall(action, 'b-1', carried(steps.standard(action, more), steps.mandate))
  return at.gate.govern(made, sending(upstream, made))
}
const ended = async (): Promise<unknown[]> =>
  (await at.lines()).filter(({ type }) => type === 'SESSION_CLOSED').map(({ reason }) => reason)
const pass = async (seconds: number): Promise<void> => {
  time.advance(seconds)
  await at.gate.expireDue()
}

describe('an idle session', () => {
  it('ends by the timer, one that is used goes on', async () => {
    await call('ReadBooking')
    await pass(IDLE - 10)
    await call('ReadBooking')
    await pass(IDLE - 10)
    expect(await ended()).toEqual([])
    const closed = new Promise<void>((resolve) => {
      at.gate.data.subscribe(({ type }) => type === 'SESSION_CLOSED' && resolve())
    })
    // The timer does it alone.
    time.advance(30)
    await closed
    expect(await at.gate.read.isOver(steps.sessionId)).toBe(true)
    expect(await call('ReadBooking')).toMatchObject({ code: 'session_over' })
    expect(await ended()).toEqual(['idle'])
  })

  it('ends if an operator opened it and no agent ever came', async () => {
    await at.gate.openSession({ sessionId: 'waiting', agent: AGENT, by: 'olga' })
    await pass(IDLE + 20)
    expect(await ended()).toEqual(['idle'])
  })

  it('does not end because the wall clock jumped ahead', async () => {
    await call('ReadBooking')
    time.jump(10 * IDLE)
    await pass(30)
    expect(await ended()).toEqual([])
    await pass(IDLE)
    expect(await ended()).toEqual(['idle'])
  })

  it('ends after a restart that was late for it', async () => {
    await call('ReadBooking')
    await at.gate.close()
    time.advance(IDLE + 1)
    const { clock, timer } = time
    at = await rig(
      {
        manifest: BOOKING,
        policies: BOOKING_POLICIES,
        mandateIssuers: issuer.options,
        sessionIdleSeconds: IDLE,
        clock,
        timer,
      },
      at.dir,
    )
    expect(await ended()).toEqual(['idle'])
  })

  it('does not end while people are asked, and not at once after they have decided', async () => {
    const asked = await call('CloseBooking', { hem_urgency: 'REQUIRED' })
    expect(asked).toMatchObject({ kind: 'pending' })
    await pass(3 * IDLE)
    expect(await ended()).toEqual([])
    const { approvalId = '' } = 'approvalId' in asked ? asked : {}
    await at.gate.withdraw(approvalId, AGENT)
    await pass(IDLE - 10)
    expect(await ended()).toEqual([])
    expect(await call('ReadBooking')).toMatchObject({ code: 'executed' })
    await pass(IDLE + 20)
    expect(await ended()).toEqual(['idle'])
  })

  it.each([
    { kind: 'all' as const },
    { kind: 'agent' as const, name: AGENT },
    { kind: 'operator' as const, name: 'acme' },
  ])('does not end while %j is halted, and ends when it is resumed', async (scope) => {
    await call('ReadBooking')
    await at.gate.halt(scope, 'olga')
    await pass(IDLE + 20)
    expect(await ended()).toEqual([])
    await at.gate.resume(scope, 'olga')
    expect(await ended()).toEqual(['idle'])
  })

  it('is told of once, however many calls find it over at once', async () => {
    await call('ReadBooking')
    await at.gate.halt({ kind: 'agent', name: 'nobody' }, 'olga')
    time.jump(IDLE + 1)
    const answers = await Promise.all([1, 2, 3].map(() => call('ReadBooking')))
    for (const answer of answers) expect(answer).toMatchObject({ code: 'session_over' })
    expect(await ended()).toEqual(['idle'])
  })
})
