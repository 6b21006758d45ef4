import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { checkBinding, checkMission, checkRule, checkTime } from '../../../src/core/intent/check.js'
import type { Intent } from '../../../src/core/intent/model.js'
import { readIntent } from '../../../src/core/intent/read.js'
import { IDS, MANDATE, octets, STANDARD, THIN, type Written } from './samples.js'

const intentOf = (written: Written): Intent => {
  const got = readIntent(octets(written), { pii: 'reject' })
  if (!got.ok) throw new Error(got.field)
  return got.intent
}
const standard = intentOf(STANDARD)
const thin = intentOf(THIN)
const HERE = { action: 'create_refund' } as const
const NOW = { at: '2026-07-01T12:00:00.000Z', skewSeconds: 300 } as const

describe('before the index of ids is asked', () => {
  it('both profiles pass', () => {
    expect(checkRule(standard, HERE)).toBeNull()
    expect(checkRule(thin, HERE)).toBeNull()
  })

  it.each(['Create_refund', 'create_refund ', 'create_refun', 'Action::"create_refund"', 'x'])(
    'the action is compared character by character: %j',
    (requested_action) => {
      expect(checkRule(intentOf({ ...STANDARD, requested_action }), HERE)).toMatchObject({
        code: 'IDP_MALFORMED',
        field: 'requested_action',
      })
    },
  )

  it('a canonically equivalent action is another one', () => {
    const composed = intentOf({ ...STANDARD, requested_action: 'caf\u00e9' })
    expect(checkRule(composed, { ...HERE, action: 'cafe\u0301' })).not.toBeNull()
  })

  it('thin ones are refused where the tool says so, and only then', () => {
    expect(checkRule(thin, { ...HERE, thin: 'refuse' })).toEqual({
      code: 'IDP_THIN_NOT_ACCEPTED',
    })
    expect(checkRule(standard, { ...HERE, thin: 'refuse' })).toBeNull()
  })

  it('what is malformed is told before that', () => {
    const against = { ...HERE, thin: 'refuse', action: 'other' } as const
    expect(checkRule(thin, against)).toMatchObject({ code: 'IDP_MALFORMED' })
  })
})

describe('the time of one that is not on record', () => {
  it.each([
    ['2026-07-01T11:55:00Z', true],
    ['2026-07-01T11:54:59.999Z', false],
    ['2026-07-01T11:54:59.9999Z', false],
    ['2026-07-01T12:05:00Z', true],
    ['2026-07-01T12:05:00.001Z', false],
    ['2025-07-01T12:00:00Z', false],
    ['0000-01-01T00:00:00Z', false],
    ['9999-12-31T23:59:59Z', false],
  ])('a declaration of %s is in time: %s', (timestamp, inTime) => {
    const found = checkTime(intentOf({ ...STANDARD, timestamp }), NOW)
    expect(found === null).toBe(inTime)
    if (found !== null) expect(found).toMatchObject({ code: 'IDP_MALFORMED', field: 'timestamp' })
  })

  it('a leap second is a time', () => {
    const leap = intentOf({ ...STANDARD, timestamp: '2016-12-31T23:59:60.500Z' })
    const at = (time: string) => checkTime(leap, { ...NOW, at: time, skewSeconds: 0.5 })
    expect(at('2017-01-01T00:00:00.000Z')).toBeNull()
    expect(at('2017-01-01T00:00:01.100Z')).not.toBeNull()
  })

  it('a time that cannot be read is never in time', () => {
    expect(checkTime(standard, { ...NOW, at: 'soon' })).not.toBeNull()
    expect(checkTime(standard, { ...NOW, skewSeconds: Number.NaN })).not.toBeNull()
  })

  it('agrees with the difference of the two times', () => {
    const times = fc.date({
      min: new Date('2026-07-01T11:00:00Z'),
      max: new Date('2026-07-01T13:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(times, times, fc.integer({ min: 0, max: 4000 }), (sent, got, skewSeconds) => {
        const intent = { ...standard, timestamp: sent.toISOString() }
        const found = checkTime(intent, { ...NOW, at: got.toISOString(), skewSeconds })
        const apart = Math.abs(sent.getTime() - got.getTime())
        expect(found === null).toBe(apart <= skewSeconds * 1000)
      }),
    )
  })
})

describe('object, mandate and session', () => {
  const against = { mandate: MANDATE, objectId: null }

  it('pass where they are those of the call', () => {
    for (const intent of [standard, thin]) {
      expect(checkBinding(intent, against)).toBeNull()
      expect(
        checkBinding(intent, {
          mandate: { ...MANDATE, sessionId: 'session-1' },
          objectId: IDS.so,
        }),
      ).toBeNull()
    }
  })

  it('the object is that of the mandate, and of the request', () => {
    const mandate = { ...MANDATE, soId: IDS.other }
    expect(checkBinding(standard, { ...against, mandate })).toEqual({
      code: 'IDP_SO_MISMATCH',
      with: 'mandate',
    })
    expect(checkBinding(standard, { ...against, objectId: IDS.other })).toEqual({
      code: 'IDP_SO_MISMATCH',
      with: 'request',
    })
    expect(checkBinding(standard, { ...against, objectId: '' })).toEqual({
      code: 'IDP_SO_MISMATCH',
      with: 'request',
    })
  })

  it('the mandate is the one presented', () => {
    const mandate = { ...MANDATE, id: 'mandate-2' }
    expect(checkBinding(standard, { ...against, mandate })).toEqual({
      code: 'IDP_MANDATE_MISMATCH',
    })
  })

  it.each(['session-2', ''])('the session is that of the mandate: %j', (sessionId) => {
    const mandate = { ...MANDATE, sessionId }
    expect(checkBinding(standard, { ...against, mandate })).toEqual({
      code: 'IDP_SESSION_MISMATCH',
    })
  })

  it('are told in this order', () => {
    const wrong = {
      mandate: { ...MANDATE, soId: IDS.other, id: 'mandate-2', sessionId: 'session-2' },
      objectId: IDS.goal,
    }
    expect(checkBinding(standard, wrong)).toMatchObject({
      code: 'IDP_SO_MISMATCH',
      with: 'mandate',
    })
    const same = { ...wrong, mandate: { ...wrong.mandate, soId: IDS.so } }
    expect(checkBinding(standard, same)).toMatchObject({ code: 'IDP_SO_MISMATCH', with: 'request' })
    expect(checkBinding(standard, { ...same, objectId: null })).toEqual({
      code: 'IDP_MANDATE_MISMATCH',
    })
  })
})

describe('the mission', () => {
  const none = { ...standard, missionRef: null }
  it.each([
    ['the same', standard, IDS.mission, null],
    ['left out by a thin one', thin, IDS.mission, null],
    ['none on either side', none, null, null],
    ['declared, and none in the mandate', standard, null, null],
    ['another', standard, IDS.other, IDS.mission],
    ['left out by a standard one', none, IDS.mission, undefined],
  ] as const)('%s', (_, intent, missionRef, submitted) => {
    const found = checkMission(intent, { missionRef })
    if (submitted === null) return expect(found).toBeNull()
    expect(found).toEqual({
      code: 'IDP_MISSION_REF_MISMATCH',
      mismatch: {
        expected_mission_ref: missionRef,
        submitted_mission_ref: submitted ?? null,
      },
    })
  })
})
