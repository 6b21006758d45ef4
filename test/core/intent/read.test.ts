import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { intent as intentShape } from '../../../src/core/intent/model.js'
import { faultOf } from '../../../src/core/json/shape.js'
import { draws } from '../../support/draws.js'
import {
  COMMON,
  fieldOf,
  goal,
  read,
  readText,
  reasoning,
  STANDARD_ONLY,
  withText,
} from './reading.js'
import { IDS, STANDARD, THIN, validStandard, validThin, without } from './samples.js'

describe('a standard declaration', () => {
  it('is read', () => {
    expect(read(STANDARD)).toEqual({
      ok: true,
      intent: {
        idpId: IDS.idp,
        sessionId: 'session-1',
        soId: IDS.so,
        mandateId: 'mandate-1',
        missionRef: IDS.mission,
        step: 1,
        requestedAction: 'create_refund',
        profile: 'IDP_STANDARD',
        goal: { id: IDS.goal, description: 'Give the customer the money back.' },
        reasoning: { type: 'INFERENCE', description: 'The parcel was lost.' },
        confidence: '0.75',
        hemUrgency: 'NONE',
        contextRefs: [],
        auditAccessible: true,
        timestamp: '2026-07-01T12:00:00Z',
        pii: [],
      },
    })
  })

  it('reads back equal, whatever valid one it is', () => {
    fc.assert(
      fc.property(validStandard, (written) => {
        const got = read(written, 'off')
        if (!got.ok) throw new Error(`${got.field} ${got.detail}`)
        const { intent } = got
        expect(faultOf(intentShape, intent)).toBeNull()
        const { confidence, profile, pii, goal, reasoning, ...rest } = intent
        expect({
          ...rest,
          goal: { goal_id: goal?.id, description: goal?.description },
          reasoning: { ...reasoning },
        }).toEqual({
          idpId: written.idp_id,
          sessionId: written.session_id,
          soId: written.so_id,
          mandateId: written.mandate_id,
          missionRef: written.mission_ref ?? null,
          step: written.step_sequence,
          requestedAction: written.requested_action,
          goal: { ...(written.declared_goal as object) },
          reasoning: { ...(written.reasoning_basis as object) },
          hemUrgency: written.hem_urgency,
          contextRefs: written.context_refs ?? [],
          auditAccessible: written.audit_accessible ?? true,
          timestamp: written.timestamp,
        })
        expect([profile, pii]).toEqual(['IDP_STANDARD', []])
        const apart = Number(written.confidence_level) - Number(confidence)
        expect(apart >= -1e-12 && apart < 1e-4 + 1e-12).toBe(true)
      }),
      { numRuns: draws(5000, 500) },
    )
  })

  it('takes its members in any order, with any white space and escapes', () => {
    const turned = Object.fromEntries(Object.entries(STANDARD).reverse())
    const spaced = JSON.stringify(turned, null, '\t').replace(
      '"step_sequence"',
      '"\\u0073tep_sequence"',
    )
    expect(readText(spaced)).toEqual(read(STANDARD))
  })

  it.each([...COMMON, ...STANDARD_ONLY])('needs %s, and null is none', (name) => {
    expect(fieldOf(without(STANDARD, name))).toBe(name)
    expect(fieldOf({ ...STANDARD, [name]: null })).toBe(name)
  })

  it.each(['goal_id', 'description'])('needs declared_goal.%s', (name) => {
    expect(fieldOf(goal({ [name]: undefined }))).toBe(`declared_goal.${name}`)
    expect(fieldOf(goal({ [name]: null }))).toBe(`declared_goal.${name}`)
  })

  it.each(['type', 'description'])('needs reasoning_basis.%s', (name) => {
    expect(fieldOf(reasoning({ [name]: undefined }))).toBe(`reasoning_basis.${name}`)
    expect(fieldOf(reasoning({ [name]: null }))).toBe(`reasoning_basis.${name}`)
  })

  it.each(['mission_ref', 'context_refs', 'audit_accessible', 'metadata'])(
    'need not have %s, but null is not the same as leaving it out',
    (name) => {
      expect(fieldOf(without(STANDARD, name))).toBeNull()
      expect(fieldOf({ ...STANDARD, [name]: null })).toBe(name)
    },
  )

  it.each(['IDP_STANDARD', 'idp_thin', 'IDP_THIN ', '', null, 1, ['IDP_THIN'], 'GATE_SYNTHESIZED'])(
    'has no profile %j',
    (profile) => {
      expect(fieldOf({ ...STANDARD, profile })).toBe('profile')
      expect(fieldOf({ ...THIN, profile })).toBe('profile')
    },
  )

  it('may have members that no one here knows, on every level', () => {
    const more = { plan_b_ref: [null], __proto__x: { deep: [[[{}]]] }, '': 0, toString: 'x' }
    const written = {
      ...STANDARD,
      ...more,
      declared_goal: { ...STANDARD.declared_goal, ...more },
      reasoning_basis: { ...STANDARD.reasoning_basis, ...more },
    }
    expect(read(written)).toEqual(read(STANDARD))
    expect(
      readText(withText({ ...STANDARD, x: 0 }, 'x', '{"__proto__":{"hem_urgency":1}}')),
    ).toEqual(read(STANDARD))
    expect(readText(`{"__proto__":${JSON.stringify(STANDARD)}}`)).toMatchObject({ field: 'idp_id' })
  })
})

describe('a thin declaration', () => {
  it('is read, without stubs', () => {
    expect(read(THIN)).toEqual({
      ok: true,
      intent: {
        idpId: IDS.idp,
        sessionId: 'session-1',
        soId: IDS.so,
        mandateId: 'mandate-1',
        missionRef: null,
        step: 1,
        requestedAction: 'create_refund',
        profile: 'IDP_THIN',
        goal: null,
        reasoning: null,
        confidence: null,
        hemUrgency: 'NONE',
        contextRefs: [],
        auditAccessible: true,
        timestamp: '2026-07-01T12:00:00Z',
        pii: [],
      },
    })
  })

  it('reads back, whatever valid one it is', () => {
    fc.assert(
      fc.property(validThin, (written) => {
        const got = read(written)
        if (!got.ok) throw new Error(`${got.field} ${got.detail}`)
        expect(faultOf(intentShape, got.intent)).toBeNull()
        expect(got.intent).toMatchObject({
          idpId: written.idp_id,
          soId: written.so_id,
          step: written.step_sequence,
          profile: 'IDP_THIN',
          hemUrgency: written.hem_urgency ?? 'NONE',
          contextRefs: written.context_refs ?? [],
          auditAccessible: written.audit_accessible ?? true,
          goal: null,
          reasoning: null,
          confidence: null,
          missionRef: null,
        })
      }),
      { numRuns: draws(2000, 200) },
    )
  })

  it.each(COMMON)('needs %s', (name) => {
    expect(fieldOf(without(THIN, name))).toBe(name)
    expect(fieldOf({ ...THIN, [name]: null })).toBe(name)
  })

  it.each(['declared_goal', 'reasoning_basis', 'confidence_level', 'mission_ref'] as const)(
    'must not have %s, not even null',
    (name) => {
      expect(fieldOf({ ...THIN, [name]: STANDARD[name] })).toBe(name)
      expect(fieldOf({ ...THIN, [name]: null })).toBe(name)
    },
  )

  it('can ask for a human', () => {
    expect(read({ ...THIN, hem_urgency: 'REQUIRED' })).toMatchObject({
      intent: { hemUrgency: 'REQUIRED' },
    })
    expect(fieldOf({ ...THIN, hem_urgency: 'LOW' })).toBe('hem_urgency')
    expect(fieldOf({ ...THIN, hem_urgency: null })).toBe('hem_urgency')
  })

  it('keeps what it may have', () => {
    const more = { context_refs: [IDS.other], audit_accessible: false, metadata: { a: 1.5 } }
    expect(read({ ...THIN, ...more })).toMatchObject({
      intent: { contextRefs: [IDS.other], auditAccessible: false },
    })
  })
})

describe('personal data', () => {
  const EMAIL = 'Write to bob@example.com'
  const PHONE = 'Call +49 171 1234567'

  it('makes it malformed, and is never repeated', () => {
    for (const [written, field, marker, value] of [
      [goal({ description: EMAIL }), 'declared_goal.description', 'email', 'bob'],
      [goal({ description: PHONE }), 'declared_goal.description', 'phone', '171'],
      [reasoning({ description: EMAIL }), 'reasoning_basis.description', 'email', 'bob'],
      [reasoning({ description: PHONE }), 'reasoning_basis.description', 'phone', '171'],
    ] as const) {
      const got = read(written)
      expect(got).toEqual({ ok: false, field, detail: `holds a mark of personal data: ${marker}` })
      expect(JSON.stringify(got)).not.toContain(value)
    }
  })

  it('is listed where it is only flagged, and not looked for where it is off', () => {
    const written = {
      ...goal({ description: `${EMAIL}. ${PHONE}` }),
      reasoning_basis: { type: 'INFERENCE', description: PHONE },
    }
    expect(read(written, 'flag')).toMatchObject({
      intent: {
        pii: [
          { field: 'declared_goal.description', marker: 'email' },
          { field: 'declared_goal.description', marker: 'phone' },
          { field: 'reasoning_basis.description', marker: 'phone' },
        ],
      },
    })
    expect(read(written, 'off')).toMatchObject({ intent: { pii: [] } })
  })

  it('is not looked for elsewhere', () => {
    expect(read({ ...STANDARD, metadata: { mail: EMAIL } }).ok).toBe(true)
  })
})
