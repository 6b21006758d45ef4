import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { BOOKING, BOOKING_POLICIES, MISSION } from '../../support/intents.js'
import { type Plane, startPlane } from './harness.js'

/** What operators do about declared calls, over the admin plane. */
let plane: Plane
const SO_ID = '5f2a6f1e-9d5c-5b53-9a0e-3f7d9c1a2b4c'
beforeAll(async () => {
  plane = await startPlane({ manifest: BOOKING, policies: BOOKING_POLICIES })
})
afterAll(() => plane.close())

const post = async (path: string, body?: object): Promise<[number, object]> => {
  const answered = await plane.ask('POST', path, body === undefined ? {} : { body })
  return [answered.status, answered.json()]
}
const get = async (path: string): Promise<[number, object]> => {
  const answered = await plane.ask('GET', path, { as: 'viewer' })
  return [answered.status, answered.json()]
}
const recordedBy = async (type: string): Promise<unknown[]> =>
  (await plane.rig.lines()).filter((line) => line.type === type).map(({ actor }) => actor)

describe('sessions', () => {
  // A session id is the agent's own text, with whatever is in it.
  const ID = 'case 7/ä?x=1#%2e'
  const path = `/v1/sessions/${encodeURIComponent(ID)}`
  const open = { session_id: ID, agent: 'support-bot' }

  it('are opened once, listed, halted and closed for good', async () => {
    expect(await get(path)).toMatchObject([404, { code: 'not_found' }])
    expect(await post('/v1/sessions', open)).toMatchObject([
      200,
      { ...open, state: 'open', last_step: 0, halted: false, held_by: null, recorded: true },
    ])
    expect(await post('/v1/sessions', open)).toMatchObject([200, { recorded: false }])
    expect(await post('/v1/sessions', { ...open, agent: 'other-bot' })).toMatchObject([
      409,
      { code: 'session_of_another' },
    ])
    await post('/v1/halts', { scope: { kind: 'session', name: ID } })
    expect(await get(path)).toMatchObject([200, { ...open, halted: true }])
    expect(await get('/v1/sessions')).toMatchObject([200, { sessions: [{ session_id: ID }] }])
    expect(await post(`${path}/close`)).toEqual([
      200,
      { session_id: ID, state: 'over', recorded: true },
    ])
    expect(await post(`${path}/close`)).toMatchObject([200, { recorded: false }])
    expect(await get(path)).toEqual([200, { session_id: ID, state: 'over' }])
    expect(await get('/v1/sessions')).toEqual([200, { sessions: [] }])
    expect(await post('/v1/sessions', open)).toMatchObject([409, { code: 'session_over' }])
    expect(await post('/v1/sessions/never-seen/close')).toMatchObject([404, { code: 'not_found' }])
    const olga = plane.gate.parts.tenant.voter('the-operator')
    expect(await recordedBy('SESSION_OPENED')).toEqual([olga])
    expect(await recordedBy('SESSION_CLOSED')).toEqual([olga])
  })

  it.each(['.', '..', 'x\ud800', ''])('are not opened under %j', async (session_id) => {
    expect(await post('/v1/sessions', { ...open, session_id })).toMatchObject([
      400,
      { code: 'request_invalid' },
    ])
  })
})

describe('mandates, missions and objects', () => {
  it('are what an operator says, recorded where that is new', async () => {
    expect(await post('/v1/mandates/m-1/revoke')).toEqual([
      200,
      { mandate_id: 'm-1', revoked: true, recorded: true },
    ])
    expect(await post('/v1/mandates/m-1/revoke')).toMatchObject([200, { recorded: false }])
    const phase = 'SUSPENDED'
    expect(await post(`/v1/missions/${MISSION}`, { phase })).toEqual([
      200,
      { mission_ref: MISSION, phase, recorded: true },
    ])
    expect(await get(`/v1/objects/${SO_ID}`)).toMatchObject([404, { code: 'not_found' }])
    const wrong = await post(`/v1/objects/${SO_ID}`, { state: 'shut' })
    expect(wrong).toMatchObject([
      422,
      { code: 'no_such_state', detail: expect.stringContaining('closed, created, paid') },
    ])
    expect(await post(`/v1/objects/${SO_ID}`, { state: 'paid' })).toMatchObject([
      200,
      { recorded: true },
    ])
    expect(await get(`/v1/objects/${SO_ID}`)).toEqual([
      200,
      { so_id: SO_ID, state: 'paid', principal: null },
    ])
    const olga = plane.gate.parts.tenant.voter('the-operator')
    for (const type of ['MANDATE_REVOKED', 'MISSION_SET', 'OBJECT_SET']) {
      expect(await recordedBy(type)).toEqual([olga])
    }
  })

  it('say which states there are where no manifest has any', async () => {
    const bare = await startPlane()
    try {
      const answered = await bare.ask('POST', `/v1/objects/${SO_ID}`, { body: { state: 'paid' } })
      expect([answered.status, answered.json().detail]).toEqual([
        422,
        'Objects have no state paid; no manifest names any.',
      ])
    } finally {
      await bare.close()
    }
  })
})
