import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../../src/core/call/call.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
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
import { type Rig, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

let at: Rig
let server: RawUpstream
let upstream: Upstream
let steps: Steps
const issuer = mandateIssuer()

beforeEach(async () => {
  at = await rig({ manifest: BOOKING, policies: BOOKING_POLICIES, mandateIssuers: issuer.options })
  steps = stepsOf(issuer)
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})

const send = (made: HttpCall) => at.gate.govern(made, sending(upstream, made))
const call = (action: BookingAction, intent: Claims | null, more = {}) =>
  send(bookingCall(action, steps.booking, carried(intent, steps.mandate), more))
const types = async (): Promise<string[]> =>
  (await at.lines())
    .map(({ type }) => type)
    .filter((type) => type !== 'HEAD' && type !== 'CONFIG_CHANGED')
    .slice(1)

describe('a declared call', () => {
  it('stands in the journal before it is sent, and is verified after', async () => {
    const answer = await call('ReadBooking', steps.standard('ReadBooking'))
    expect(answer).toMatchObject({ kind: 'executed', code: 'executed' })
    expect(await types()).toEqual([
      'SESSION_OPENED',
      'MANDATE_PRESENTED',
      'IDP_SUBMITTED',
      'ACTION_DISPATCHED',
      'CAPSULE',
      'STATE_TRANSITIONED',
      'IDP_COMMITMENT_VERIFIED',
    ])
  })

  it('moves its object, and no further than its states allow', async () => {
    expect(await call('CloseBooking', steps.standard('CloseBooking'))).toMatchObject({
      code: 'executed',
    })
    const again = await call('ProcessPayment', steps.standard('ProcessPayment'))
    expect(again).toMatchObject({
      code: 'object_state_invalid',
      problem: {
        result: 'DENY',
        deny_code: 'SO_STATE_INVALID',
        available_actions: ['AdvanceMissionStage', 'ReadBooking'],
      },
    })
  })

  it('is denied by policy with what was received, and may be put before a person', async () => {
    const unsure = steps.standard('CloseBooking', { confidence_level: 0.79996 })
    const denied = await call('CloseBooking', unsure)
    expect(denied).toMatchObject({
      code: 'policy_denied',
      problem: { deny_code: 'POLICY_DENY', hem_available: true, idp_received: unsure },
    })
    const asked = await call(
      'CloseBooking',
      steps.standard('CloseBooking', { confidence_level: 0.7, hem_urgency: 'REQUIRED' }),
    )
    expect(asked).toMatchObject({ kind: 'pending', code: 'approval_pending' })
    const other = await call('ReadBooking', steps.standard('ReadBooking'))
    expect(other).toMatchObject({ code: 'session_pending', problem: { deny_code: 'HEM_PENDING' } })
    expect((await types()).slice(-5)).toEqual([
      'IDP_SUBMITTED',
      'CAPSULE',
      'APPROVAL_OPENED',
      'IDP_SUBMITTED',
      'CAPSULE',
    ])
  })

  it('is no declaration without a mandate, an intent, or the form', async () => {
    expect(await send(bookingCall('ReadBooking', 'b-1', null))).toMatchObject({
      code: 'mandate_missing',
      problem: { result: 'REJECT' },
    })
    expect(await call('ReadBooking', null)).toMatchObject({
      code: 'intent_missing',
      problem: { result: 'REJECT', error_code: 'IDP_MISSING' },
    })
    expect(
      await call('ReadBooking', steps.standard('ReadBooking', { confidence_level: 2 })),
    ).toMatchObject({ code: 'intent_malformed', problem: { field: 'confidence_level' } })
  })

  it('has an id of its own, and a step above the last', async () => {
    const first = steps.standard('ReadBooking')
    const done = await call('ReadBooking', first)
    expect(done).toMatchObject({ code: 'executed' })
    expect(await call('ReadBooking', first)).toMatchObject({
      code: 'intent_duplicate',
      problem: {
        error_code: 'IDP_DUPLICATE',
        earlier_action_id: 'actionId' in done ? done.actionId : '',
      },
    })
    expect(
      await call('ReadBooking', steps.standard('ReadBooking', { step_sequence: 1 })),
    ).toMatchObject({ code: 'intent_step_stale', problem: { last_committed: 1 } })
  })
})

describe('a session', () => {
  it('stops when declarations name another mission too often', async () => {
    steps = stepsOf(issuer, { claims: { mission_ref: MISSION } })
    for (let i = 0; i < 2; i++) {
      expect(await call('ReadBooking', steps.standard('ReadBooking'))).toMatchObject({
        code: 'intent_mission_mismatch',
        problem: { mismatch_detail: { expected_mission_ref: MISSION } },
      })
    }
    await call('ReadBooking', steps.standard('ReadBooking'))
    expect((await types()).slice(-4)).toEqual([
      'CAPSULE',
      'IDP_MISSION_REF_MISMATCH_REJECTED',
      'CAPSULE',
      'APPROVAL_OPENED',
    ])
    expect(
      await call('ReadBooking', steps.standard('ReadBooking', { mission_ref: MISSION })),
    ).toMatchObject({ code: 'session_pending' })
  })

  it('stops when what was sent is not what was declared', async () => {
    const declared = carried(steps.standard('ReadBooking'), steps.mandate)
    const made = bookingCall('ReadBooking', 'b-1', declared)
    const elsewhere = { ...made, target: '/v1/bookings/b-2' }
    const altered = await at.gate.govern(made, sending(upstream, elsewhere))
    expect(altered).toMatchObject({ kind: 'executed' })
    expect((await types()).slice(-5)).toEqual([
      'CAPSULE',
      'STATE_TRANSITIONED',
      'IDP_COMMITMENT_GAP',
      'CAPSULE',
      'APPROVAL_OPENED',
    ])
    expect(await call('ReadBooking', steps.standard('ReadBooking'))).toMatchObject({
      code: 'session_pending',
    })
  })
})
