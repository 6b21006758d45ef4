import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { recordActor } from '../../../src/gate/operate/actor.js'
import { signed } from '../../../src/gate/signed-event.js'
import type { JournalEntry } from '../../../src/ports/journal.js'
import {
  AGENT,
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  MISSION,
  mandateIssuer,
  stepsOf,
} from '../../support/intents.js'
import { OTHER_TOKEN, type Rig, rig, TOKEN } from '../../support/rig.js'

/** What `gate.read.openTransitions` tells of objects, missions and mandates that operators had their hands on. */
const issuer = mandateIssuer()
let at: Rig
const start = async (manifest = BOOKING, policies = BOOKING_POLICIES): Promise<void> => {
  at = await rig({ manifest, policies, mandateIssuers: issuer.options })
}
beforeEach(() => start())
afterEach(() => at.close())

const known = { kind: 'known', agent: AGENT, roles: [], developer: `${AGENT}@1` } as const
const asking = (mandate: string | null, bearer = TOKEN) =>
  at.gate.read.openTransitions(
    {
      caller: { bearer, certificate: null, asserted: null, source: '' },
      ...(mandate === null ? {} : { declared: carried(null, mandate) }),
    },
    known,
  )
const actor = () => recordActor('olga', {}, at.gate.parts)
const append = async (entry: JournalEntry): Promise<void> => {
  await at.gate.parts.journal.append([entry])
}
const setMission = async (phase: 'SUSPENDED' | 'ACTIVE'): Promise<void> =>
  append(signed('MISSION_SET', { mission_ref: MISSION, phase, ...(await actor()) }, at.gate.parts))

describe('what is open', () => {
  it('is nothing under a mandate that was revoked', async () => {
    const { jti, mandate } = stepsOf(issuer)
    expect(await asking(mandate)).toMatchObject({ kind: 'open' })
    await append(signed('MANDATE_REVOKED', { mandate_id: jti, ...(await actor()) }, at.gate.parts))
    expect(await asking(mandate)).toMatchObject({ kind: 'revoked' })
  })

  it('says what stops the mission', async () => {
    const { mandate } = stepsOf(issuer, { claims: { mission_ref: MISSION } })
    await setMission('SUSPENDED')
    expect(await asking(mandate)).toMatchObject({ mission: 'SUSPENDED' })
    await setMission('ACTIVE')
    expect(await asking(mandate)).toMatchObject({ mission: null })
  })

  it('is what needs no state where the state is not known', async () => {
    const steps = stepsOf(issuer)
    const declared = carried(steps.standard('CloseBooking'), steps.mandate)
    const lost = await at.gate.govern(bookingCall('CloseBooking', 'b-1', declared), async () => ({
      observation: { kind: 'sent', cause: 'reset', deadline: false },
      held: null,
    }))
    expect(lost).toMatchObject({ code: 'outcome_unknown' })
    const open = { state: 'unknown', actions: ['AdvanceMissionStage', 'ReadBooking'] }
    expect(await asking(steps.mandate)).toMatchObject(open)
    const set = { so_id: steps.soId, state: 'paid', ...(await actor()) }
    await append(signed('OBJECT_SET', set, at.gate.parts))
    expect(await asking(steps.mandate)).toMatchObject({
      state: 'paid',
      actions: ['AdvanceMissionStage', 'CloseBooking', 'ReadBooking'],
    })
  })

  it('has no state where the manifests give its objects none', async () => {
    await at.close()
    const text = BOOKING.replace(/^object:[\s\S]*?(?=^tools:)/m, '')
    await start(text)
    expect(await asking(stepsOf(issuer).mandate)).toMatchObject({
      state: null,
      actions: ['AdvanceMissionStage', 'CloseBooking', 'ProcessPayment', 'ReadBooking'],
    })
  })

  it('is what policies leave a way for, of the actions that the mandate has', async () => {
    await at.close()
    const closed = BOOKING_POLICIES.replace('principal, action == Action::"CloseBooking"', (head) =>
      head.replace('principal', 'principal == Agent::"other-bot"'),
    )
    await start(BOOKING, closed)
    const { mandate } = stepsOf(issuer, {
      claims: { cedar_actions: ['CloseBooking', 'ReadBooking', 'NoSuchAction'] },
    })
    expect(await asking(mandate)).toMatchObject({ actions: ['ReadBooking'] })
    const bound = stepsOf(issuer, { claims: { permitted_states: ['closed'] } })
    expect(await asking(bound.mandate)).toMatchObject({ state: 'created', actions: [] })
  })

  it('finds the session of a mandate that names none', async () => {
    const steps = stepsOf(issuer, { claims: { session_id: undefined } })
    expect(await asking(steps.mandate)).toMatchObject({ session: null })
    const declared = carried(
      steps.standard('ReadBooking', { hem_urgency: 'REQUIRED' }),
      steps.mandate,
    )
    const waits = await at.gate.govern(bookingCall('ReadBooking', 'b-1', declared), async () => {
      throw new Error('sent')
    })
    expect(await asking(steps.mandate)).toMatchObject({
      session: {
        sessionId: steps.sessionId,
        lastStep: 1,
        heldBy: 'actionId' in waits && waits.actionId,
      },
    })
  })

  it('is for the agent of the mandate, whoever shows it', async () => {
    const { mandate } = stepsOf(issuer, { agent: 'other-bot' })
    expect(await asking(mandate)).toEqual({ kind: 'invalid', why: 'another_agent' })
    expect(await asking(null, OTHER_TOKEN)).toEqual({ kind: 'missing' })
    expect(await asking(null, mandate)).toEqual({ kind: 'invalid', why: 'another_agent' })
  })
})
