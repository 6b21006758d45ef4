import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { fromUtf8 } from '../../../src/core/bytes/text.js'
import { intentContext } from '../../../src/core/journal/encryption-context.js'
import { verifyEvent } from '../../../src/core/journal/event.js'
import { LINES } from '../../../src/core/journal/vocabulary.js'
import { bookingGate, problemIn } from '../../support/booking-gate.js'
import {
  BOOKING_POLICIES,
  bookingCall,
  type Claims,
  carried,
  MISSION,
  mandateIssuer,
  stepsOf,
} from '../../support/intents.js'

/** What the seed intent-declaration-primitive-01 demands up to the judgement (§4, §5.1–5.4, §7, §9): docs/intent.md. */
const gate = bookingGate()
const { call, lines, types } = gate
const sent = (): number => gate.server.requests.length

describe('the declaration (§4)', () => {
  it('is recorded as it was received, with both times, and metadata untouched', async () => {
    const metadata = { b: [1.5, '\u202e'], a: { secret: 'x' }, profile: 'IDP_THIN' }
    const timestamp = new Date(Date.now() - 60_000).toISOString()
    const intent = gate.steps.standard('ReadBooking', { metadata, timestamp })
    await call('ReadBooking', intent)
    const [line] = await lines('IDP_SUBMITTED')
    expect(line?.timestamp).toBe(intent.timestamp)
    expect(Date.parse(line?.received_at ?? '')).toBeGreaterThan(Date.parse(timestamp) + 59_000)
    expect(line?.profile).toBe('IDP_STANDARD')
    expect(await received(line)).toBe(JSON.stringify(intent))
  })

  it('of a type that nobody registered is recorded and not rejected', async () => {
    const reasoning_basis = { type: 'urn:example:hunch', description: 'a hunch' }
    const answer = await call(
      'ReadBooking',
      gate.steps.standard('ReadBooking', { reasoning_basis }),
    )
    expect(answer).toMatchObject({ code: 'executed' })
    expect((await lines('IDP_SUBMITTED'))[0]?.declared?.reasoning_type).toBe('urn:example:hunch')
  })

  it('that is restricted says so on record, and nothing of what it declares', async () => {
    await call('ReadBooking', gate.steps.standard('ReadBooking', { audit_accessible: false }))
    const [line] = await lines('IDP_SUBMITTED')
    expect(line).toMatchObject({ audit_accessible: false })
    expect(line).not.toHaveProperty('declared')
    expect(LINES.IDP_SUBMITTED.shown).not.toContain('declared')
    expect(LINES.IDP_SUBMITTED.shown).not.toContain('intent')
  })

  it('with marks of personal data is refused, and nothing of it is written', async () => {
    const declared_goal = { goal_id: randomUUID(), description: 'write to ada@example.org' }
    const intent = gate.steps.standard('ReadBooking', { declared_goal })
    expect(problemIn(await call('ReadBooking', intent))).toMatchObject({
      error_code: 'IDP_MALFORMED',
      field: 'declared_goal.description',
    })
    expect(JSON.stringify(await gate.at.lines())).not.toContain('ada@example.org')
  })

  it.each([
    ['that policy permits', 'ReadBooking', {}, {}],
    ['that policy denies', 'CloseBooking', { confidence_level: 0.1 }, {}],
    [
      'that a constraint blocks',
      'ProcessPayment',
      {},
      { body: { amount: '1.00', currency: 'XXX' } },
    ],
  ] as const)('REQUIRED stops the session before a call %s', async (_, action, more, of) => {
    const urgent = gate.steps.standard(action, { ...more, hem_urgency: 'REQUIRED' })
    const answer = await call(action, urgent, of as object)
    expect(answer).toMatchObject({
      kind: 'pending',
      problem: { status: 202, result: 'SESSION_HEM_PENDING' },
    })
    expect((await gate.at.gate.parts.state.session(gate.steps.sessionId))?.heldBy).not.toBeNull()
    const next = await call('ReadBooking', gate.steps.standard('ReadBooking'))
    expect(problemIn(next).deny_code).toBe('HEM_PENDING')
    expect(sent()).toBe(0)
  })

  it('RECOMMENDED is recorded, seen by policies, and stops nothing', async () => {
    await call('ReadBooking', gate.steps.standard('ReadBooking', { hem_urgency: 'RECOMMENDED' }))
    expect((await lines('IDP_SUBMITTED'))[0]?.declared?.hem_urgency).toBe('RECOMMENDED')
    expect(sent()).toBe(1)
  })
})

describe('receipt (§5.2)', () => {
  it('refuses a call without a declaration, before anything is committed or sent', async () => {
    expect(problemIn(await call('ReadBooking', null))).toMatchObject({
      status: 400,
      result: 'REJECT',
      error_code: 'IDP_MISSING',
    })
    expect([sent(), await lines('IDP_SUBMITTED')]).toEqual([0, []])
  })

  it('takes no declaration of a call that has run: sent again with one, it is another call', async () => {
    await call('ReadBooking', gate.steps.standard('ReadBooking'))
    const late = await call('ReadBooking', gate.steps.standard('ReadBooking'))
    const [first, second] = await lines('IDP_SUBMITTED')
    expect(late).toMatchObject({ actionId: second?.action_id })
    expect(first?.action_id).not.toBe(second?.action_id)
  })

  it('asks in the order of the text: with everything wrong, the first is told', async () => {
    const { steps } = gate
    const committed = steps.standard('ReadBooking')
    await call('ReadBooking', committed)
    const wrong = {
      ...committed,
      so_id: randomUUID(),
      mandate_id: 'another',
      session_id: 'another',
      requested_action: 'CloseBooking',
      mission_ref: MISSION,
    }
    const told: string[] = []
    const repairs: readonly Claims[] = [
      { requested_action: 'ReadBooking' },
      { idp_id: randomUUID() },
      { so_id: steps.soId },
      { mandate_id: steps.jti },
      { session_id: steps.sessionId },
    ]
    let now: Claims = wrong
    for (const repair of [{}, ...repairs]) {
      now = { ...now, ...repair }
      const { deny_code, field } = problemIn(await call('ReadBooking', now))
      told.push(field === undefined ? deny_code : `${deny_code} ${field}`)
    }
    expect(told).toEqual([
      'IDP_MALFORMED requested_action',
      'IDP_DUPLICATE',
      'IDP_SO_MISMATCH',
      'IDP_MANDATE_MISMATCH',
      'urn:capsule-gate:error:intent_session_mismatch',
      'IDP_MALFORMED step_sequence',
    ])
  })

  it('looks at the mandate first: under none that holds, nothing is committed or told of ids', async () => {
    const intent = gate.steps.standard('ReadBooking')
    await call('ReadBooking', intent)
    const stranger = stepsOf(mandateIssuer(), { booking: gate.steps.booking })
    for (const idp_id of [intent.idp_id, randomUUID()]) {
      const made = carried({ ...intent, idp_id }, stranger.mandate)
      const answer = await gate.send(bookingCall('ReadBooking', 'b-1', made))
      expect(answer).toMatchObject({ code: 'mandate_invalid', problem: { status: 401 } })
    }
    expect(await lines('IDP_SUBMITTED')).toHaveLength(1)
  })

  it('refuses a mission that is not the mandate’s, with both, on record, and no submission', async () => {
    gate.steps = stepsOf(gate.issuer, { claims: { mission_ref: MISSION } })
    const mission_ref = randomUUID()
    const answer = await call('ReadBooking', gate.steps.standard('ReadBooking', { mission_ref }))
    const both = { expected_mission_ref: MISSION, submitted_mission_ref: mission_ref }
    expect(problemIn(answer)).toMatchObject({ result: 'DENY', mismatch_detail: both })
    expect(await lines('IDP_MISSION_REF_MISMATCH_REJECTED')).toEqual([
      expect.objectContaining(both),
    ])
    expect(await lines('IDP_SUBMITTED')).toEqual([])
  })
})

describe('commitment (§5.3, §8.2)', () => {
  it('is signed, whole, and stands before the judgement, also where policy denies', async () => {
    const unsure = gate.steps.standard('CloseBooking', { confidence_level: 0.1 })
    expect(await call('CloseBooking', unsure)).toMatchObject({ code: 'policy_denied' })
    expect((await types()).slice(2)).toEqual(['IDP_SUBMITTED', 'CAPSULE', 'CEDAR_DENY_RECORDED'])
    const [line] = await lines('IDP_SUBMITTED')
    expect(line).toMatchObject({
      mandate_id: gate.steps.jti,
      session_id: gate.steps.sessionId,
      audit_accessible: true,
      received_at: expect.any(String),
    })
    const { v, seq, prev, at, ...event } = line as Exclude<typeof line, undefined>
    expect(verifyEvent(event, gate.at.gate.data.keys(), nodeCrypto)).toMatchObject({ ok: true })
    const altered = { ...event, requested_action: 'ReadBooking' }
    expect(verifyEvent(altered, gate.at.gate.data.keys(), nodeCrypto)).toMatchObject({ ok: false })
  })

  it('stands before anything is judged: a stop right behind it leaves no judgement', async () => {
    const committed: string[] = []
    await gate.reopen({
      async seam(name) {
        if (name === 'after_declaration') {
          committed.push(...(await gate.at.lines()).map(({ type }) => type))
          throw new Error('stopped')
        }
      },
    })
    await call('ReadBooking', gate.steps.standard('ReadBooking'))
    expect(sent()).toBe(0)
    expect((await types()).filter((type) => type !== 'CAPSULE')).toEqual([
      'SESSION_OPENED',
      'MANDATE_PRESENTED',
      'IDP_SUBMITTED',
    ])
    const [concluded] = (await gate.at.capsules()).slice(-1)
    expect(concluded?.capsule.constraints?.map(({ id }) => id) ?? []).toEqual([])
  })
})

describe('policies (§5.4)', () => {
  const sees = (when: string) => `${BOOKING_POLICIES}
@id("sees") forbid (principal, action == Action::"ReadBooking", resource) unless { ${when} };`
  it.each([
    [
      'reasoning_basis.type',
      'context.idp has reasoning_basis && context.idp.reasoning_basis.type == "INSTRUCTION"',
    ],
    [
      'confidence_level',
      'context.idp has confidence_level && context.idp.confidence_level == decimal("0.9")',
    ],
    ['hem_urgency', 'context.idp has hem_urgency && context.idp.hem_urgency == "NONE"'],
    ['goal_id', 'context.idp has goal_id && context.idp.goal_id like "*-4*"'],
    ['mission_ref', `context.idp has mission_ref && context.idp.mission_ref == "${MISSION}"`],
  ])('see %s of a standard declaration, and of a thin one its absence', async (_, when) => {
    await gate.reopen({ policies: sees(when) }, 'fresh')
    gate.steps = stepsOf(gate.issuer, { claims: { mission_ref: MISSION } })
    const standard = gate.steps.standard('ReadBooking', { mission_ref: MISSION })
    expect(await call('ReadBooking', standard)).toMatchObject({ code: 'executed' })
    const thin = gate.steps.thin('ReadBooking')
    expect(await call('ReadBooking', thin)).toMatchObject({ code: 'policy_denied' })
  })
})

describe('thin declarations (§4.5, §7)', () => {
  it('are accepted, and recorded as thin, with stubs in the record alone', async () => {
    const answer = await call('ReadBooking', gate.steps.thin('ReadBooking'))
    expect(answer).toMatchObject({ code: 'executed' })
    expect((await lines('IDP_SUBMITTED'))[0]).toMatchObject({
      profile: 'IDP_THIN',
      audit_accessible: true,
      declared: { reasoning_type: 'UNSPECIFIED', confidence_level: '0.5', hem_urgency: 'NONE' },
    })
    expect((await lines('IDP_COMMITMENT_VERIFIED'))[0]?.record.match_result).toBe('MATCHED')
  })

  it('are refused where the tool says so', async () => {
    const answer = await call('ProcessPayment', gate.steps.thin('ProcessPayment'))
    expect(problemIn(answer)).toMatchObject({
      result: 'REJECT',
      error_code: 'IDP_THIN_NOT_ACCEPTED',
    })
    expect([sent(), await lines('IDP_SUBMITTED')]).toEqual([0, []])
  })
})

/** The text of a declaration, from its line and the key in evidence. */
async function received(
  line: Awaited<ReturnType<typeof lines<'IDP_SUBMITTED'>>>[number] | undefined,
) {
  if (line === undefined) return null
  const { parts } = gate.at.gate
  const found = await parts.evidence.byDigest(line.evidence_digest)
  const key = found.state === 'present' ? found.value.bytes : undefined
  if (key === undefined) return null
  const context = intentContext(line.event_id, line.intent_digest)
  const octets = parts.oneTime.decrypt(line.intent, key, context)
  expect(octets === null ? null : hex(nodeCrypto.sha256(octets))).toBe(line.intent_digest)
  return octets === null ? null : fromUtf8(octets)
}
