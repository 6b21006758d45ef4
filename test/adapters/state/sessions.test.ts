import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import type { Line, LineType } from '../../../src/core/journal/vocabulary.js'
import { SMALLEST } from '../../support/lines.js'
import { TENANT } from '../../support/tenant.js'
import { lineWriter } from './lines.js'

/** Sessions as operators and time change them; a fold from scratch, or from any dump and the rest, is the same. */
const T0 = Date.parse('2026-03-01T12:00:00.000Z')
const IDLE_SECONDS = 60
const fresh = () => createEmbeddedState({ tenant: TENANT, sessionIdleSeconds: IDLE_SECONDS })
const commit = (sessionId: string, step: number, at: number, agent = 'bot') => ({
  sessionId,
  agent,
  soId: 'so',
  idpId: `${sessionId}-${step}`,
  step,
  mandateId: `m of ${sessionId}`,
  actionId: `a-${sessionId}-${step}`,
  at,
})

describe('a session', () => {
  it('has one agent, by an operator or by its first declaration, whichever is first', async () => {
    const state = fresh()
    expect(await state.openSession('s', 'bot', T0)).toBe('opened')
    expect(await state.openSession('s', 'bot', T0)).toBe('open')
    expect(await state.openSession('s', 'other', T0)).toBe('foreign')
    expect(await state.commitIntent(commit('s', 1, T0, 'other'))).toMatchObject({ why: 'foreign' })
    expect(await state.commitIntent(commit('s', 1, T0))).toMatchObject({ opens: false })
    await state.commitIntent(commit('t', 1, T0))
    expect(await state.openSession('t', 'other', T0)).toBe('foreign')
  })

  it('is not there where its opening could not be written, unless somebody declared in it', async () => {
    const state = fresh()
    await state.openSession('s', 'bot', T0)
    await state.releaseSession('s')
    expect(await state.session('s')).toBeNull()
    await state.openSession('s', 'bot', T0)
    await state.commitIntent(commit('s', 1, T0))
    await state.releaseSession('s')
    expect(await state.session('s')).toMatchObject({ agent: 'bot' })
  })

  it('is ended once as idle, and takes no step from that moment on', async () => {
    const state = fresh()
    await state.openSession('s', 'bot', T0)
    const late = T0 + IDLE_SECONDS * 1000 + 1
    expect(await state.idleFrom()).toEqual(new Map([['s', late]]))
    expect(await state.closeIdle('s', late - 1)).toBe(false)
    expect(await state.closeIdle('s', late)).toBe(true)
    expect(await state.closeIdle('s', late)).toBe(false)
    expect(await state.isOver('s')).toBe(true)
    expect(await state.session('s')).toBeNull()
    expect(await state.sessions()).toEqual([])
    expect(await state.commitIntent(commit('s', 1, late))).toMatchObject({ why: 'over' })
    expect(await state.openSession('s', 'bot', late)).toBe('over')
    expect(await state.idleFrom()).toEqual(new Map())
  })

  it('folds the same from scratch and from any dump and the rest', () => {
    const session = fc.constantFrom('s1', 's2')
    const one = fc.oneof(
      fc.record({ type: fc.constant('SESSION_OPENED' as const), session_id: session }),
      fc.record({
        type: fc.constantFrom(
          'SESSION_CLOSED' as const,
          'SESSION_RESUMED' as const,
          'IDP_SUBMITTED' as const,
          'MANDATE_PRESENTED' as const,
          'IDP_COMMITMENT_GAP' as const,
        ),
        session_id: session,
      }),
      fc.record({
        type: fc.constantFrom('MISSION_SET' as const, 'OBJECT_SET' as const),
        session_id: session,
      }),
    )
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), fc.nat(), (ops, pick) => {
        const line = lineWriter(T0)
        const lines: Line[] = ops.map(({ type, session_id }, i) => {
          line.wait(i * 10)
          return written(line, type, session_id, i)
        })
        const whole = fresh()
        for (const each of lines) whole.apply(each)
        const cut = pick % (lines.length + 1)
        const half = fresh()
        for (const each of lines.slice(0, cut)) half.apply(each)
        const again = fresh()
        expect(again.load(JSON.parse(JSON.stringify(half.dump())))).toBeNull()
        for (const each of lines.slice(cut)) again.apply(each)
        expect(again.dump()).toEqual(whole.dump())
      }),
    )
  })
})

function written(
  line: ReturnType<typeof lineWriter>,
  type: LineType,
  session_id: string,
  i: number,
): Line {
  const members: object = SMALLEST[type]
  const own = 'session_id' in members ? { session_id } : {}
  const unique = type === 'IDP_SUBMITTED' ? { idp_id: `idp-${i}`, step_sequence: i + 1 } : {}
  return line(type, { ...members, ...own, ...unique })
}
