import { expect, it } from '@jest/globals'
import { publicLine } from '../../../src/mounts/admin/public-line.js'
import { decide, person } from '../../support/approvals.js'
import { bookingGate } from '../../support/booking-gate.js'
import { bookingCall, carried, MISSION, stepsOf } from '../../support/intents.js'

/** What others than external auditors get of a declaration (seed §4.2), and what of it is put before people. */
const gate = bookingGate()
const ELSE = 'aaaaaaaa-7f1e-4c8e-9d53-0c5a6e1f2b90'

it.each([
  ['the agent', true, { audit_accessible: false }],
  ['the operator', false, {}],
])(
  'is nothing of what it names or says, where %s restricts it',
  async (_, auditAccessible, own) => {
    await gate.reopen({ intents: { auditAccessible, missionMismatches: 1 } }, 'fresh')
    gate.steps = stepsOf(gate.issuer, { claims: { mission_ref: MISSION } })
    const declared_goal = { goal_id: ELSE, description: 'Zinnober' }
    const intent = gate.steps.standard('ReadBooking', { ...own, mission_ref: ELSE, declared_goal })
    await gate.call('ReadBooking', intent)
    const [approval] = await gate.at.gate.parts.state.approvals()
    if (approval === undefined) throw new Error('nobody was asked')
    const document = JSON.stringify(await gate.at.gate.read.document(approval))
    const lines = await gate.at.lines()
    expect(lines.map(({ type }) => type)).toContain('IDP_MISSION_REF_MISMATCH_REJECTED')
    const { parts } = gate.at.gate
    const evidence = await Promise.all(
      (await gate.at.capsules()).map(({ capsule }) => parts.evidence.byAction(capsule.action_id)),
    )
    for (const shown of [document, JSON.stringify([...lines, ...lines.map(publicLine)])]) {
      expect(shown).not.toMatch(/Zinnober|aaaaaaaa-7f1e/)
    }
    expect(JSON.stringify(evidence)).not.toMatch(/Zinnober|aaaaaaaa-7f1e/)
  },
)

it('that names another mission too often puts no more before people than its agent may', async () => {
  await gate.reopen({ intents: { missionMismatches: 1 }, openPerAgent: 1 }, 'fresh')
  for (let n = 0; n < 3; n++) {
    const steps = stepsOf(gate.issuer, { claims: { mission_ref: MISSION } })
    const intent = steps.standard('ReadBooking', { mission_ref: ELSE })
    await gate.send(bookingCall('ReadBooking', 'b-1', carried(intent, steps.mandate)))
  }
  expect(await gate.at.gate.parts.state.approvals()).toHaveLength(1)
  const closed = await gate.lines('SESSION_CLOSED')
  expect(closed.map(({ reason }) => reason)).toEqual(['nobody_to_ask', 'nobody_to_ask'])
})

it('is its comparison, however late a person decided', async () => {
  const demand = gate.steps.standard('ReadBooking', { hem_urgency: 'REQUIRED' })
  const asked = await gate.call('ReadBooking', demand)
  if (asked.kind !== 'pending') throw new Error(asked.kind)
  const other = stepsOf(gate.issuer, { booking: 'b-9' })
  // More lines than a page looks ahead.
  for (let n = 0; n < 14; n++) {
    const calls = Array.from({ length: 32 }, () =>
      bookingCall('ReadBooking', 'b-9', carried(other.standard('ReadBooking'), other.mandate)),
    )
    await Promise.all(calls.map((call) => gate.send(call)))
  }
  await decide(gate.at.gate, asked.approvalId, person('alice'), { kind: 'approve' })
  expect(await gate.call('ReadBooking', demand)).toMatchObject({ code: 'executed' })
  const page = await gate.at.gate.read.intents({ after: 0, limit: 1, restricted: true })
  expect(page.found.map(({ verdict, matchResult }) => [verdict, matchResult])).toEqual([
    ['hitl_dispatched', 'MATCHED'],
  ])
}, 60_000)
