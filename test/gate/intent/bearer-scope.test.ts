import { afterEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Seam } from '../../../src/gate/context.js'
import { decide, person } from '../../support/approvals.js'
import { bookingGate } from '../../support/booking-gate.js'
import { BOOKING, bookingCall, type Claims, carried, stepsOf } from '../../support/intents.js'

/** What is open to whoever shows a mandate and declares nothing: what the mandate names. */
const gate = bookingGate()
const OPTIONAL = BOOKING.replaceAll('intent: required', 'intent: optional').replaceAll(
  /\n *thin: refuse/g,
  '',
)
const OFF = OPTIONAL.replaceAll(/\n *intent: optional/g, '')
const POLICIES = `@id("all") permit (principal, action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
const ASKING = `${POLICIES}
@id("ask") @hem("required") forbid (principal, action, resource)
unless { context.approval.granted || action == Action::"dev.capsulegate.canary" };`
const told = (answer: Answer): string => ('code' in answer ? answer.code : answer.kind)
afterEach(() => expect(gate.server.requests.length).toBeLessThanOrEqual(1))

const bearing = (mandate: string) => ({
  caller: { bearer: mandate, certificate: null, asserted: null, source: '127.0.0.1' },
})
const close = (booking: string, claims: Claims) => {
  const { mandate } = stepsOf(gate.issuer, { claims })
  return gate.send(bookingCall('CloseBooking', booking, null, bearing(mandate)))
}
const WIDE = { cedar_actions: ['CloseBooking'] }

describe.each([
  ['takes a declaration', OPTIONAL],
  ['has no intent', OFF],
])('a bearer of a mandate, at a tool that %s', (_, manifest) => {
  it('acts within its actions, on its object, in its states', async () => {
    await gate.reopen({ manifest, policies: POLICIES }, 'fresh')
    expect(told(await close('b-1', { cedar_actions: ['ReadBooking'] }))).toBe('mandate_scope')
    expect(told(await close('b-999', WIDE))).toBe('intent_object_mismatch')
    expect(told(await close('b-1', { ...WIDE, permitted_states: ['closed'] }))).toBe(
      'object_state_invalid',
    )
    expect(gate.server.requests).toHaveLength(0)
    expect(told(await close('b-1', { ...WIDE, permitted_states: ['created'] }))).toBe('executed')
  })

  it('is not served by a call that goes on for it once the mandate is revoked', async () => {
    const later = manifest.replaceAll(
      'irreversibility:',
      'hitl: {on_approval: dispatch}\n    irreversibility:',
    )
    await gate.reopen({ manifest: later, policies: ASKING }, 'fresh')
    const { mandate, jti } = stepsOf(gate.issuer, { claims: WIDE })
    const call = bookingCall('CloseBooking', 'b-1', null, bearing(mandate))
    const asked = await gate.send(call)
    if (asked.kind !== 'pending') throw new Error(told(asked))
    await gate.at.gate.revokeMandate(jti, 'olga')
    await decide(gate.at.gate, asked.approvalId, person('alice'), { kind: 'approve' })
    await gate.at.gate.dispatchApproved(() => () => {
      throw new Error('nothing may be sent')
    })
    await gate.at.gate.close()
    const last = (await gate.at.capsules()).at(-1)?.capsule
    expect(last?.disposition).toMatchObject({ verdict_class: 'denied' })
    expect(last?.effect).toBeUndefined()
  })
})

describe('a call that goes on for its agent', () => {
  it('is not sent where the mandate is revoked between its judgement and its first byte', async () => {
    let turning = false
    let jti = ''
    const seam = async (name: Seam): Promise<void> => {
      if (name !== 'before_first_byte' || !turning) return
      turning = false
      await gate.at.gate.revokeMandate(jti, 'olga')
    }
    const manifest = OFF.replaceAll(
      'irreversibility:',
      'hitl: {on_approval: dispatch}\n    irreversibility:',
    )
    await gate.reopen({ manifest, policies: ASKING, seam }, 'fresh')
    const steps = stepsOf(gate.issuer, { claims: WIDE })
    jti = steps.jti
    const asked = await gate.send(bookingCall('CloseBooking', 'b-1', null, bearing(steps.mandate)))
    if (asked.kind !== 'pending') throw new Error(told(asked))
    await decide(gate.at.gate, asked.approvalId, person('alice'), { kind: 'approve' })
    turning = true
    await gate.at.gate.dispatchApproved(() => () => {
      throw new Error('nothing may be sent')
    })
    await gate.at.gate.close()
    const last = (await gate.at.capsules()).at(-1)?.capsule
    expect([turning, last?.disposition.verdict_class]).toEqual([false, 'engine_failure'])
    expect(last?.effect).toBeUndefined()
  })
})

describe('a person asked because a declaration demanded one', () => {
  const demanded = async (): Promise<string> => {
    await gate.reopen({ manifest: OPTIONAL, policies: POLICIES }, 'fresh')
    const intent = gate.steps.standard('ReadBooking', { hem_urgency: 'REQUIRED' })
    const asked = await gate.call('ReadBooking', intent)
    if (asked.kind !== 'pending') throw new Error(told(asked))
    return asked.approvalId
  }
  const bare = () => gate.send(bookingCall('ReadBooking', 'b-1', null))
  const shown = () =>
    gate.send(bookingCall('ReadBooking', 'b-1', carried(null, gate.steps.mandate)))

  it('is not passed by without a declaration while they think', async () => {
    const approvalId = await demanded()
    expect(await bare()).toMatchObject({ kind: 'joined', approvalId })
    expect(await shown()).toMatchObject({ kind: 'joined', approvalId })
    expect(gate.server.requests).toHaveLength(0)
  })

  it('is not passed by after they refused', async () => {
    const approvalId = await demanded()
    const refusal = { kind: 'deny', reason: 'no' } as const
    await decide(gate.at.gate, approvalId, person('alice'), refusal)
    expect(told(await bare())).toBe('approval_refused')
    expect(told(await shown())).toBe('approval_refused')
    expect(gate.server.requests).toHaveLength(0)
  })
})
