import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { decide, type FakeTime, fakeTime, person } from '../../support/approvals.js'
import {
  AUDIENCE,
  BOOKING,
  BOOKING_POLICIES,
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

/** The very same declaration once more, long after it was made. */
const SKEW = 300
const issuer = mandateIssuer()
let time: FakeTime
let at: Rig
let server: RawUpstream
let steps: Steps

beforeEach(async () => {
  time = fakeTime()
  const { clock, timer } = time
  at = await rig({
    manifest: BOOKING,
    policies: BOOKING_POLICIES,
    mandateIssuers: issuer.options,
    intents: { skewSeconds: SKEW },
    clock,
    timer,
  })
  steps = stepsOf(issuer, { now: clock.now, claims: { exp: clock.now() / 1000 + 100_000 } })
  server = await rawUpstream(fine)
})
afterEach(async () => {
  await server.close()
  await at.close()
})

async function send(intent: Claims, mandate = steps.mandate) {
  const call = bookingCall('ReadBooking', 'b-1', carried(intent, mandate))
  const upstream = upstreamTo(server.origin)
  try {
    return await at.gate.govern(call, sending(upstream, call))
  } finally {
    await upstream.close()
  }
}
const submitted = async (): Promise<number> =>
  (await at.lines()).filter(({ type }) => type === 'IDP_SUBMITTED').length

/** A call whose agent demands a person, approved after so many seconds. */
async function approvedAfter(seconds: number): Promise<Claims> {
  const intent = steps.standard('ReadBooking', { hem_urgency: 'REQUIRED' })
  const asked = await send(intent)
  if (asked.kind !== 'pending') throw new Error(asked.kind)
  time.advance(seconds)
  const outcome = { kind: 'approve' } as const
  expect(await decide(at.gate, asked.approvalId, person('alice'), outcome)).toMatchObject({
    state: 'approved',
  })
  return intent
}

describe('a declaration that is on record', () => {
  it('is the same step of the approved call, however long the person took', async () => {
    const intent = await approvedAfter(6 * SKEW)
    expect(await send(intent)).toMatchObject({ code: 'executed' })
    expect(await submitted()).toBe(1)
  })

  it('names the action that it brought, however late it comes again', async () => {
    const intent = steps.standard('ReadBooking')
    const first = await send(intent)
    expect(first).toMatchObject({ code: 'executed' })
    time.advance(6 * SKEW)
    expect(await send(intent)).toMatchObject({
      code: 'intent_duplicate',
      problem: { earlier_action_id: first.kind === 'executed' ? first.actionId : null },
    })
  })

  it('is no step under another mandate, also of the same session and object', async () => {
    const intent = await approvedAfter(1)
    await at.gate.revokeMandate(steps.jti, 'test')
    expect(await send(intent)).toMatchObject({ code: 'mandate_revoked' })
    const another = issuer.mandate({
      aud: AUDIENCE,
      sub: 'support-bot',
      jti: 'another',
      exp: time.clock.now() / 1000 + 600,
      session_id: steps.sessionId,
      so_id: steps.soId,
      cedar_actions: ['ReadBooking'],
    })
    expect(await send(intent, another)).toMatchObject({ code: 'intent_mandate_mismatch' })
    expect(server.requests).toHaveLength(0)
  })
})

it('a declaration that is not on record is from now', async () => {
  const intent = steps.standard('ReadBooking')
  time.advance(SKEW + 1)
  expect(await send(intent)).toMatchObject({
    code: 'intent_malformed',
    problem: { error_code: 'IDP_MALFORMED', field: 'timestamp' },
  })
})
