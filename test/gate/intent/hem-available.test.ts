import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { person } from '../../support/approvals.js'
import { draws } from '../../support/draws.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  carried,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, type RigOptions, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

/** `hem_available: true` is a promise: the same call with `hem_urgency: REQUIRED` is put before a person (§6.3). */
const MANIFEST = BOOKING.replace(
  'known_currency: {currency: {in: [EUR, USD]}}',
  `known_currency: {currency: {in: [EUR, USD]}}
      a_once: {dedupe: {per: [booking, amount], window: 1h}}
      few: {count: {max: 1, per: [booking], window: 1h}}`,
)
  // Paying changes no state here, so that a booking can be paid again.
  .replace(/ {4}ProcessPayment:.*\n/, '')
const issuer = mandateIssuer()
let at: Rig
let server: RawUpstream
let upstream: Upstream
beforeEach(async () => {
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})
const start = async (more: Partial<RigOptions> = {}): Promise<void> => {
  const rules = { manifest: MANIFEST, policies: BOOKING_POLICIES }
  at = await rig({ ...rules, mandateIssuers: issuer.options, ...more })
}

type Act = {
  readonly session: number
  readonly action: Exclude<BookingAction, 'AdvanceMissionStage'>
  readonly amount: string
  readonly currency: string
  readonly confidence: number
  readonly reason: 'INSTRUCTION' | 'INFERENCE'
  readonly thin: boolean
  readonly key: string | null
  readonly decided: 'leave' | 'approve' | 'deny'
}
const act: fc.Arbitrary<Act> = fc.record({
  session: fc.nat(2),
  action: fc.constantFrom('ProcessPayment', 'ProcessPayment', 'CloseBooking', 'ReadBooking'),
  amount: fc.constantFrom('1.00', '2.00', '3.00', '4.00'),
  currency: fc.constantFrom('EUR', 'EUR', 'XXX'),
  confidence: fc.constantFrom(0.5, 0.95),
  reason: fc.constantFrom('INSTRUCTION', 'INSTRUCTION', 'INFERENCE'),
  thin: fc.constantFrom(false, false, true),
  key: fc.constantFrom(null, null, 'k-1'),
  decided: fc.constantFrom('leave', 'approve', 'deny', 'deny'),
})

async function send(steps: Steps, of: Act, hem_urgency: 'NONE' | 'REQUIRED'): Promise<Answer> {
  const { action, amount, currency, confidence, reason, thin, key } = of
  const declared = thin
    ? steps.thin(action, hem_urgency === 'NONE' ? {} : { hem_urgency })
    : steps.standard(action, {
        hem_urgency,
        confidence_level: confidence,
        reasoning_basis: { type: reason, description: `under mandate ${steps.jti}` },
      })
  const made = bookingCall(action, steps.booking, carried(declared, steps.mandate), {
    ...(action === 'ProcessPayment' ? { body: { amount, currency } } : {}),
    idempotencyKey: key === null ? null : `${key}-${steps.booking}-${action}`,
  })
  return at.gate.govern(made, sending(upstream, made))
}

async function decide(approvalId: string, kind: 'approve' | 'deny'): Promise<void> {
  const approval = await at.gate.parts.state.approval(approvalId)
  const outcome = kind === 'approve' ? { kind } : { kind, reason: 'no' }
  const documentDigest = approval?.documentDigest ?? ''
  const done = await at.gate.resolve({
    approvalId,
    documentDigest,
    decider: person('alice'),
    outcome,
  })
  expect(done).toMatchObject({ kind: 'recorded' })
}

const LOW: Act = {
  session: 0,
  action: 'CloseBooking',
  amount: '1.00',
  currency: 'EUR',
  confidence: 0.5,
  reason: 'INSTRUCTION',
  thin: false,
  key: null,
  decided: 'leave',
}

const PAID: Act = { ...LOW, action: 'ProcessPayment', confidence: 0.9 }
const EXAMPLES: [Act[]][] = [
  [[LOW]],
  [[{ ...PAID, currency: 'XXX' }]],
  [[PAID, PAID]],
  [[PAID, { ...PAID, amount: '2.00' }, LOW]],
  [[{ ...LOW, decided: 'deny' }, LOW]],
]

describe('hem_available', () => {
  it('is true only where the same call, resubmitted, is put before a person', async () => {
    const codes = new Map<string, number>()
    await start({ openPerAgent: 4, openPerSession: 1 })
    const run = fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 12 }), async (acts) => {
      const booking = randomUUID()
      const sessions = [0, 1, 2].map((each) =>
        stepsOf(issuer, { booking: `${booking}-${each === 2 ? 1 : each}` }),
      )
      for (const each of acts) {
        const steps = sessions[each.session] as Steps
        const told = await send(steps, each, 'NONE')
        if (told.kind !== 'refused') continue
        const { hem_available } = told.problem
        const name = `${told.code} ${hem_available}`
        codes.set(name, (codes.get(name) ?? 0) + 1)
        if (!hem_available) continue
        const again = await send(steps, each, 'REQUIRED')
        expect([told.code, again.kind, 'status' in again && again.status]).toEqual([
          told.code,
          'pending',
          202,
        ])
        if (each.decided !== 'leave' && again.kind === 'pending') {
          await decide(again.approvalId, each.decided)
          if (each.decided === 'approve') await send(steps, each, 'REQUIRED')
        }
      }
      for (const { approvalId, state } of await at.gate.parts.state.approvals()) {
        if (state.kind === 'pending') await decide(approvalId, 'deny')
        else await at.gate.withdraw(approvalId, 'support-bot')
      }
    })
    await fc.assert(run, { numRuns: draws(120, 20), examples: EXAMPLES })
    // Every kind of denial was met on both sides.
    const met = [...codes.keys()]
    for (const code of [
      'policy_denied',
      'constraint_failed',
      'budget_exceeded',
      'duplicate_call',
    ]) {
      expect(met).toContain(`${code} true`)
    }
    expect(met).toEqual(expect.arrayContaining(['session_pending false', 'policy_denied false']))
    expect(met.filter((name) => name.startsWith('session_') && name.endsWith('true'))).toEqual([])
  }, 120_000)

  const available = (answer: Answer): unknown =>
    'problem' in answer ? [answer.code, answer.problem.hem_available] : answer.kind

  it('is false where a person has refused the call, and nobody is asked again', async () => {
    await start()
    const steps = stepsOf(issuer)
    expect(available(await send(steps, LOW, 'NONE'))).toEqual(['policy_denied', true])
    const waits = await send(steps, LOW, 'REQUIRED')
    await decide('actionId' in waits ? waits.actionId : '', 'deny')
    expect(available(await send(steps, LOW, 'NONE'))).toEqual(['policy_denied', false])
    expect(available(await send(steps, LOW, 'REQUIRED'))).toEqual(['approval_refused', false])
  })

  it('is false where nobody can be asked', async () => {
    await start({ approvals: false })
    expect(available(await send(stepsOf(issuer), LOW, 'NONE'))).toEqual(['policy_denied', false])
  })

  it('is false for an answer that stands under a key, which is not given again either', async () => {
    await start()
    const steps = stepsOf(issuer)
    const paid: Act = { ...LOW, action: 'ProcessPayment', confidence: 0.9, key: 'k' }
    expect(await send(steps, paid, 'NONE')).toMatchObject({ kind: 'executed' })
    expect(await send(steps, paid, 'NONE')).toMatchObject({ kind: 'replayed' })
    const inferred: Act = { ...paid, reason: 'INFERENCE' }
    expect(available(await send(steps, inferred, 'NONE'))).toEqual(['policy_denied', false])
    // The demand for a person opens no way around policy.
    expect(available(await send(steps, inferred, 'REQUIRED'))).toEqual(['policy_denied', false])
  })
})

describe('the demand for a person', () => {
  it('holds the session also where a person is asked about the call already', async () => {
    const asking = `${BOOKING_POLICIES}
@id("look") @hem("required") forbid (principal, action == Action::"CloseBooking", resource)
unless { context.approval.granted };`
    await start({ policies: asking })
    const steps = stepsOf(issuer)
    const sure = { ...LOW, confidence: 0.9 }
    const first = await send(steps, sure, 'NONE')
    expect(first).toMatchObject({ kind: 'pending' })
    expect((await at.gate.parts.state.session(steps.sessionId))?.heldBy).toBeNull()
    const second = await send(steps, sure, 'REQUIRED')
    expect(second).toMatchObject({ kind: 'pending' })
    const heldBy = (await at.gate.parts.state.session(steps.sessionId))?.heldBy
    expect(heldBy).toBe('actionId' in second && second.actionId)
    expect(await at.gate.parts.state.approvals()).toHaveLength(1)
    expect(await send(steps, { ...LOW, action: 'ReadBooking' }, 'NONE')).toMatchObject({
      code: 'session_pending',
    })
    await decide(String(heldBy), 'approve')
    expect(await send(steps, sure, 'REQUIRED')).toMatchObject({ kind: 'executed' })
  })
})
