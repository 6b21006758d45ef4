import { afterEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../../src/gate/answer/answer.js'
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
import { OTHER_TOKEN, type Rig, rig } from '../../support/rig.js'

/** No refusal tells how it came about: policies, limits, ids and other agents have marker words here (seed §8.3). */
const MANIFEST = BOOKING.replace('known_currency:', 'zz_constraint:')
  .replace('[EUR, USD]', '[EUR, ZZC]')
  .replace(
    'constraints:',
    'constraints:\n      zz_budget: {count: {max: 7341, per: [booking], window: 1h}}',
  )
const POLICIES = `${BOOKING_POLICIES.replaceAll('@id("', '@id("zzpolicy-').replace('"0.8"', '"0.8642"')}
@id("zzpolicy-other") permit (principal == Agent::"zz-other-agent", action == Action::"ReadBooking", resource);
@id("zzpolicy-forbid") @reason("the words of the operator")
forbid (principal, action == Action::"ProcessPayment", resource) when { context.args.amount.greaterThan(decimal("733.1")) };`
const HIDDEN = /zz|0\.8642|733|7341|forbid|permit |context\.|greaterThan|other-bot|intent\.cedar/i

const issuer = mandateIssuer()
let at: Rig
afterEach(() => at.close())

const never = async (): Promise<never> => {
  throw new Error('sent')
}
const send = (steps: Steps, action: BookingAction, more: Claims = {}, body?: object) =>
  at.gate.govern(
    bookingCall(action, steps.booking, carried(steps.standard(action, more), steps.mandate), {
      ...(body === undefined ? {} : { body }),
    }),
    never,
  )

describe.each(['code', 'explain'] as const)('what a refused agent is told (%s)', (denyDetail) => {
  it('has no word of policies, constraints and other agents', async () => {
    at = await rig({
      manifest: MANIFEST,
      policies: POLICIES,
      mandateIssuers: issuer.options,
      denyDetail,
    })
    const told: Answer[] = []
    const steps = stepsOf(issuer)
    told.push(await send(steps, 'CloseBooking', { confidence_level: 0.5 }))
    told.push(await send(steps, 'AdvanceMissionStage'))
    told.push(await send(steps, 'ProcessPayment', {}, { amount: '900.00', currency: 'EUR' }))
    told.push(await send(steps, 'ProcessPayment', {}, { amount: '1.00', currency: 'XXX' }))
    const narrow = stepsOf(issuer, { booking: 'b-2', claims: { cedar_actions: ['ReadBooking'] } })
    told.push(await send(narrow, 'CloseBooking'))
    const missed = stepsOf(issuer, { booking: 'b-3', claims: { mission_ref: MISSION } })
    told.push(await send(missed, 'ReadBooking'))
    const bound = stepsOf(issuer, { booking: 'b-4', claims: { permitted_states: ['paid'] } })
    told.push(await send(bound, 'CloseBooking'))
    told.push(await send(steps, 'CloseBooking', { hem_urgency: 'REQUIRED', confidence_level: 0.5 }))
    told.push(await send(steps, 'ReadBooking'))
    // What another agent holds of a session, an id or a mandate is as unknown as anything else.
    const other = bookingCall(
      'ReadBooking',
      'b-1',
      carried(steps.standard('ReadBooking'), steps.mandate),
      { caller: { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '' } },
    )
    told.push(await at.gate.govern(other, never))
    expect(told.map((answer) => ('code' in answer ? answer.code : answer.kind))).toEqual([
      ...['policy_denied', 'policy_denied', 'policy_denied', 'constraint_failed', 'mandate_scope'],
      ...['intent_mission_mismatch', 'object_state_invalid', 'approval_pending', 'session_pending'],
      'mandate_invalid',
    ])
    for (const answer of told) {
      if (!('problem' in answer)) throw new Error(answer.kind)
      const { idp_received: _, ...own } = answer.problem
      // Digests, ids and times are random digits.
      const said = JSON.stringify(own).replaceAll(/[0-9a-f]{64}|[0-9a-f-]{36}|[0-9T:.-]{23}Z/g, '')
      expect(said).not.toMatch(HIDDEN)
      const advice = answer.problem.available_actions.length + answer.problem.suggested_paths.length
      if (denyDetail === 'code') expect(advice).toBe(0)
    }
    const words = JSON.stringify(told)
    expect(words.includes('the words of the operator')).toBe(denyDetail === 'explain')
    expect(words.includes('"available_actions":["')).toBe(denyDetail === 'explain')
  })
})
