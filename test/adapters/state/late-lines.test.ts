import { describe, expect, it } from '@jest/globals'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import type { CommitRequest } from '../../../src/ports/state.js'
import { TENANT } from '../../support/tenant.js'
import { lineWriter } from './lines.js'

const SESSION = { session_id: 's-1', agent: 'bot' }
const presented = {
  ...SESSION,
  mandate_id: 'm-1',
  so_id: 'so-1',
  depth: 0,
  expires_at: '2026-03-02T12:00:00.000Z',
}
const START = Date.parse('2026-03-01T12:00:00.000Z')
const step = (n: number): CommitRequest => ({
  sessionId: 's-1',
  agent: 'bot',
  soId: 'so-1',
  idpId: `idp-${n}`,
  step: n,
  mandateId: 'm-1',
  actionId: `a-${n}`,
  at: START,
})

describe('a session that is over', () => {
  it('is not opened again by lines that were on their way when it was closed', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const line = lineWriter(START)
    expect(await state.commitIntent(step(1))).toMatchObject({ kind: 'committed', opens: true })
    state.apply(line('SESSION_OPENED', SESSION))
    state.apply(line('SESSION_CLOSED', { session_id: 's-1', reason: 'idle' }))
    for (const type of ['SESSION_OPENED', 'MANDATE_PRESENTED'] as const) {
      state.apply(line(type, type === 'SESSION_OPENED' ? SESSION : presented))
      expect(await state.session('s-1')).toBeNull()
      expect(await state.isOver('s-1')).toBe(true)
    }
    const mission = { expected_mission_ref: 'x', submitted_mission_ref: null }
    const of = { ...SESSION, mandate_id: 'm-1', so_id: 'so-1', step_sequence: 1, idp_id: 'idp-1' }
    const ids = { event_id: 'e-1', action_id: 'a-1' }
    state.apply(line('IDP_MISSION_REF_MISMATCH_REJECTED', { ...of, ...ids, ...mission }))
    expect(await state.session('s-1')).toBeNull()
    expect(await state.commitIntent(step(2))).toEqual({ kind: 'session', why: 'over' })
  })
})
