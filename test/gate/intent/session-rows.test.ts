import { afterEach, describe, expect, it } from '@jest/globals'
import { readDocument } from '../../../src/core/approval/read-document.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import {
  approvalOf,
  decide,
  type FakeTime,
  fakeTime,
  machine,
  person,
  tool,
} from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type CapsuleLine, type Rig, type RigOptions, rig } from '../../support/rig.js'
import { expectRow } from './rows.js'

/** What becomes of a session that people are asked about: rows that no call ends in. */
const ELSE = '7d9b9a10-5c0e-4b9c-8f5e-2a6f0e3f4c1d'
const issuer = mandateIssuer()
let time: FakeTime
let at: Rig
let steps: Steps

async function start(more: Partial<RigOptions> = {}): Promise<void> {
  time = fakeTime()
  at = await rig({
    manifest: BOOKING,
    policies: BOOKING_POLICIES,
    mandateIssuers: issuer.options,
    clock: time.clock,
    timer: time.timer,
    ...more,
  })
  steps = stepsOf(issuer, { claims: { mission_ref: MISSION }, now: time.clock.now })
}
afterEach(async () => {
  await expectConformance(at)
  await at.close()
})

const read = (mission_ref: string): Promise<Answer> => {
  const intent = steps.standard('ReadBooking', { mission_ref })
  const call = bookingCall('ReadBooking', steps.booking, carried(intent, steps.mandate))
  return at.gate.govern(call, tool().dispatch)
}
/** What was sent is another action than the one declared. */
async function gap(): Promise<Answer> {
  const intent = steps.standard('ReadBooking', { mission_ref: MISSION })
  const call = bookingCall('ReadBooking', steps.booking, carried(intent, steps.mandate))
  return at.gate.govern(call, async (order) => ({
    ...(await tool().dispatch(order)),
    wrote: {
      kind: 'http',
      head: `POST /v1/bookings/${steps.booking}/close HTTP/1.1\r\nhost: u\r\n\r\n`,
      body: new Uint8Array(),
    },
  }))
}
const mismatches = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) {
    expect(await read(ELSE)).toMatchObject({ code: 'intent_mission_mismatch', status: 403 })
  }
}
const WAYS = [
  ['declarations of another mission', mismatches, 'dev.capsulegate.idp_mission'],
  ['a commitment gap', gap, 'dev.capsulegate.idp_commitment'],
] as const

/** Types since a line, heads left out. */
const since = async (count: number): Promise<string[]> =>
  (await at.lines())
    .slice(count)
    .map(({ type }) => type)
    .filter((type) => type !== 'HEAD')
const newest = async (): Promise<CapsuleLine> => (await at.capsules()).at(-1) as CapsuleLine
async function asked(): Promise<string> {
  const [open] = await at.gate.parts.state.approvals()
  if (open === undefined) throw new Error('nobody was asked')
  return open.approvalId
}
const say = async (outcome: Outcome, who: Parameters<typeof decide>[2] = person('alice')) =>
  decide(at.gate, await asked(), who, outcome)
const count = async (): Promise<number> => (await at.lines()).length

describe.each(WAYS)('a session stopped by %s', (_, stop, constraint) => {
  it('session_escalated: people are asked, in one append with what brought it about', async () => {
    await start()
    await stop()
    const batch = (await since(0)).slice(-3)
    expect(batch.slice(-2)).toEqual(['CAPSULE', 'APPROVAL_OPENED'])
    const lines = await at.lines()
    // No head stands between the two: one write, one signature.
    const opened = lines.findIndex(({ type }) => type === 'APPROVAL_OPENED')
    const beside = lines.slice(
      lines.findLastIndex(({ type }, n) => type === 'HEAD' && n < opened),
      opened,
    )
    expect(beside.filter(({ type }) => type === 'CAPSULE')).toHaveLength(2)

    const line = await newest()
    expectRow('session_escalated', line, at)
    expect(line.capsule['dev.capsulegate.deadline']).toMatchObject({ on_expiry: 'timeout' })
    const [record] = line.capsule.constraints ?? []
    expect(record).toMatchObject({ id: constraint, result: 'fail', blocking: true })
    const approval = await approvalOf(at.gate, await asked())
    expect(approval).toMatchObject({ holds: 'session', sessionId: steps.sessionId })
    const found = await at.gate.data.evidence.byDigest(approval.documentDigest)
    if (found.state !== 'present') throw new Error(found.state)
    const document = readDocument(found.value.value)
    expect(document).toMatchObject({
      routed_by: { kind: 'gate', ids: [constraint] },
      holds: 'session',
      idp_summary: {
        idp: { requested_action: 'ReadBooking' },
        ...(stop === gap
          ? { verification_record: { match_result: 'IDP_COMMITMENT_GAP', basis: 'written' } }
          : {}),
      },
    })
    const admitted = await expectConformance(at)
    expect(admitted.get(constraint)).toBe(stop === gap ? 2 : 1)
    expect(admitted.get('approval_document')).toBe(1)
    expect(await read(MISSION)).toMatchObject({
      code: 'session_pending',
      problem: { deny_code: 'HEM_PENDING', approval_id: approval.approvalId },
    })
  })

  it('session_unattended: where nobody can be asked it ends', async () => {
    await start({ approvals: false })
    await stop()
    expect((await since(0)).slice(-2)).toEqual(['CAPSULE', 'SESSION_CLOSED'])
    const line = await newest()
    expectRow('session_unattended', line, at)
    expect(line.capsule['dev.capsulegate.deadline']).toBeUndefined()
    expect(await at.gate.parts.state.approvals()).toEqual([])
    expect(await read(MISSION)).toMatchObject({ code: 'session_over' })
  })

  it('session_resumed: it goes on when a person says so, and no machine may', async () => {
    await start()
    await stop()
    const held = (await newest()).capsule.capsule_id
    expect(await say({ kind: 'approve' }, machine('scorer'))).toMatchObject({ kind: 'refused' })
    expect(await read(MISSION)).toMatchObject({ code: 'session_pending' })
    const before = await count()
    expect(await say({ kind: 'approve' })).toMatchObject({ kind: 'recorded', state: 'resumed' })
    expect(await since(before)).toEqual(['CAPSULE', 'APPROVAL_VOTED', 'SESSION_RESUMED'])
    const line = await newest()
    expectRow('session_resumed', line, at, true)
    expect(line.capsule.chain).toMatchObject({ parent_capsule_id: held })
    expect(await read(MISSION)).toMatchObject({ code: 'executed' })
  })

  it('session_ended: it is over when a person says so, for good', async () => {
    await start()
    await stop()
    const held = (await newest()).capsule.capsule_id
    const before = await count()
    expect(await say({ kind: 'deny', reason: 'not like this' })).toMatchObject({ state: 'refused' })
    expect(await since(before)).toEqual(['CAPSULE', 'APPROVAL_VOTED', 'SESSION_CLOSED'])
    const line = await newest()
    expectRow('session_ended', line, at, true)
    expect(line.capsule.chain).toMatchObject({ parent_capsule_id: held })
    expect(await read(MISSION)).toMatchObject({ code: 'session_over' })
    at = await at.restart({ clock: time.clock, timer: time.timer })
    expect(await read(MISSION)).toMatchObject({ code: 'session_over' })
  })

  it('approval_timed_out: it is over when nobody says anything', async () => {
    await start()
    await stop()
    const { deadline } = await approvalOf(at.gate, await asked())
    const before = await count()
    time.advance((Date.parse(deadline.at) - time.clock.now()) / 1000)
    await at.gate.expireDue()
    expect(await since(before)).toEqual(['CAPSULE', 'SESSION_CLOSED'])
    expectRow('approval_timed_out', await newest(), at)
    steps = { ...steps, ...stepsOf(issuer, { sessionId: steps.sessionId, now: time.clock.now }) }
    expect(await read(MISSION)).toMatchObject({ code: 'session_over' })
  })
})
