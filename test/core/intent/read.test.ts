import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { utf8 } from '../../../src/core/bytes/text.js'
import { intent as intentShape, MOST_INTENT_BYTES } from '../../../src/core/intent/model.js'
import { readIntent } from '../../../src/core/intent/read.js'
import { faultOf } from '../../../src/core/json/shape.js'
import { draws } from '../../support/draws.js'
import {
  IDS,
  octets,
  STANDARD,
  THIN,
  validStandard,
  validThin,
  type Written,
  without,
} from './samples.js'

const read = (written: unknown, pii: 'reject' | 'flag' | 'off' = 'reject') =>
  readIntent(octets(written), { pii })
const readText = (text: string) => readIntent(utf8(text), { pii: 'reject' })
const fieldOf = (written: unknown): string | null => {
  const got = read(written)
  return got.ok ? null : got.field
}
const goal = (more: Written): Written => ({
  ...STANDARD,
  declared_goal: { ...STANDARD.declared_goal, ...more },
})
const reasoning = (more: Written): Written => ({
  ...STANDARD,
  reasoning_basis: { ...STANDARD.reasoning_basis, ...more },
})
/** As JSON.stringify has it, with one member's text replaced. */
const withText = (written: Written, name: string, text: string): string =>
  JSON.stringify({ ...written, [name]: '@@' }).replace('"@@"', () => text)

const COMMON = [
  'idp_id',
  'session_id',
  'so_id',
  'mandate_id',
  'step_sequence',
  'requested_action',
  'timestamp',
]
const STANDARD_ONLY = ['declared_goal', 'reasoning_basis', 'confidence_level', 'hem_urgency']

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

describe('ids', () => {
  const v7 = IDS.so
  const bad = [
    '',
    IDS.idp.toUpperCase(),
    `{${IDS.idp}}`,
    `urn:uuid:${IDS.idp}`,
    IDS.idp.replaceAll('-', ''),
    ` ${IDS.idp}`,
    `${IDS.idp}\n`,
    IDS.idp.slice(1),
    `${IDS.idp}0`,
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '7d9f3a52-0c7e-4b1a-7a43-2f6a5d0b8c11',
    '7d9f3a52-0c7e-9b1a-9a43-2f6a5d0b8c11',
    '7d9f3a52-0c7e-4b1a-9a43-2f6a5d0b8c1g',
    1,
    true,
    [IDS.idp],
    { id: IDS.idp },
  ]
  it.each(bad)('is no UUID: %j', (id) => {
    expect(fieldOf({ ...STANDARD, idp_id: id })).toBe('idp_id')
    expect(fieldOf({ ...STANDARD, so_id: id })).toBe('so_id')
    expect(fieldOf({ ...STANDARD, mission_ref: id })).toBe('mission_ref')
    expect(fieldOf(goal({ goal_id: id }))).toBe('declared_goal.goal_id')
    expect(fieldOf({ ...STANDARD, context_refs: [IDS.other, id] })).toBe('context_refs')
  })

  it('are of version 4 where the agent makes them, else of any', () => {
    expect(fieldOf({ ...STANDARD, idp_id: v7 })).toBe('idp_id')
    expect(fieldOf(goal({ goal_id: v7 }))).toBe('declared_goal.goal_id')
    for (const version of '12345678') {
      const id = `0198c0de-1234-${version}abc-8def-0123456789ab`
      expect(fieldOf({ ...STANDARD, so_id: id, mission_ref: id, context_refs: [id] })).toBeNull()
    }
  })

  it('may be 64 in context_refs', () => {
    const refs = (count: number) => Array.from({ length: count }, () => IDS.other)
    expect(fieldOf({ ...STANDARD, context_refs: refs(64) })).toBeNull()
    expect(fieldOf({ ...STANDARD, context_refs: [] })).toBeNull()
    expect(fieldOf({ ...STANDARD, context_refs: refs(65) })).toBe('context_refs')
    expect(fieldOf({ ...STANDARD, context_refs: { 0: IDS.other } })).toBe('context_refs')
    expect(fieldOf({ ...STANDARD, context_refs: IDS.other })).toBe('context_refs')
    expect(fieldOf({ ...STANDARD, context_refs: [null] })).toBe('context_refs')
  })
})

describe('texts', () => {
  const LIMITS: readonly (readonly [
    field: string,
    most: number,
    write: (text: unknown) => Written,
  ])[] = [
    ['session_id', 256, (text) => ({ ...STANDARD, session_id: text })],
    ['mandate_id', 256, (text) => ({ ...STANDARD, mandate_id: text })],
    ['requested_action', 256, (text) => ({ ...STANDARD, requested_action: text })],
    ['declared_goal.description', 500, (text) => goal({ description: text })],
    ['reasoning_basis.type', 256, (text) => reasoning({ type: text })],
    ['reasoning_basis.description', 1000, (text) => reasoning({ description: text })],
  ]

  it.each(LIMITS)('%s has 1 to %i code points', (field, most, write) => {
    for (const letter of ['a', 'é', '字', '😀']) {
      expect(fieldOf(write(letter))).toBeNull()
      expect(fieldOf(write(letter.repeat(most)))).toBeNull()
      expect(fieldOf(write(letter.repeat(most + 1)))).toBe(field)
    }
    expect(fieldOf(write(`${'😀'.repeat(most - 1)}a`))).toBeNull()
    expect(fieldOf(write(`${'😀'.repeat(most)}a`))).toBe(field)
    for (const wrong of ['', 1, true, ['a'], { a: 'a' }]) expect(fieldOf(write(wrong))).toBe(field)
  })

  it('are objects around the descriptions', () => {
    for (const wrong of ['goal', 1, true, []]) {
      expect(fieldOf({ ...STANDARD, declared_goal: wrong })).toBe('declared_goal')
      expect(fieldOf({ ...STANDARD, reasoning_basis: wrong })).toBe('reasoning_basis')
    }
  })
})

describe('reasoning types', () => {
  it.each([
    'RULE_BASED',
    'UNCERTAINTY_REDUCTION',
    'https://example.org/idp#GUESS',
    'instruction',
    '?',
  ])('%s is recorded as it is', (type) => {
    expect(read(reasoning({ type }))).toMatchObject({ intent: { reasoning: { type } } })
  })

  it('MISSION_STAGE needs a mission', () => {
    expect(fieldOf(reasoning({ type: 'MISSION_STAGE' }))).toBeNull()
    expect(fieldOf(without(reasoning({ type: 'MISSION_STAGE' }), 'mission_ref'))).toBe(
      'mission_ref',
    )
  })

  const instruction = (description: string, more: Written = {}): string | null =>
    fieldOf({ ...reasoning({ type: 'INSTRUCTION', description }), ...more })

  it.each([
    'mandate-1',
    'As told under mandate-1.',
    '(session-1)',
    'session-1: refund',
    `From session ${IDS.other}.`,
    `From ${IDS.other.toUpperCase()}`,
    `${IDS.so} on behalf of ${IDS.other}`,
    'xmandate-1, that is mandate-1',
  ])('INSTRUCTION names its source in %j', (description) => {
    expect(instruction(description)).toBeNull()
  })

  it.each([
    'A human told me so.',
    'mandate-10',
    'xmandate-1',
    'mandate-1-2',
    '字mandate-1',
    'mandate-1😀x'.replace('😀', '𝒳'),
    '𝒳session-1',
    'MANDATE-1',
    `the object ${IDS.so}`,
    `${IDS.goal} ${IDS.mission} ${IDS.idp} ${IDS.so.toUpperCase()}`,
    IDS.other.slice(1),
    `a${IDS.other}`,
  ])('INSTRUCTION names no source in %j', (description) => {
    expect(instruction(description)).toBe('reasoning_basis.description')
  })

  it('a session with a short name is not named by every text', () => {
    expect(instruction('All that a man can ask', { session_id: 'a' })).toBeNull()
    expect(instruction('All that man can ask', { session_id: 'a' })).toBe(
      'reasoning_basis.description',
    )
  })
})

describe('numbers', () => {
  it.each([
    '0',
    '-1',
    '1.0',
    '1e0',
    '10e-1',
    '9007199254740992',
    '99999999999999999999',
    '"1"',
    'true',
    '[]',
  ])('no step is %s', (text) => {
    expect(readText(withText(STANDARD, 'step_sequence', text))).toMatchObject({
      field: 'step_sequence',
    })
  })

  it('the last step is 2^53 - 1', () => {
    expect(readText(withText(STANDARD, 'step_sequence', '9007199254740991'))).toMatchObject({
      intent: { step: Number.MAX_SAFE_INTEGER },
    })
  })

  it.each(['-0.1', '1.00000000000000000000001', '1e400', '2', '"0.8"', 'true', '{}'])(
    'no confidence is %s',
    (text) => {
      expect(readText(withText(STANDARD, 'confidence_level', text))).toMatchObject({
        field: 'confidence_level',
      })
    },
  )

  it('confidence is the token, rounded down', () => {
    for (const [text, confidence] of [
      ['0.79996', '0.7999'],
      ['0.7999999999999999999999999999', '0.7999'],
      ['8e-1', '0.8'],
      ['1', '1.0'],
      ['-0.0', '0.0'],
    ] as const) {
      expect(readText(withText(STANDARD, 'confidence_level', text))).toMatchObject({
        intent: { confidence },
      })
    }
  })
})

describe('words, flags and times', () => {
  it.each(['', 'none', 'Required', 'REQUIRED ', 0, true, ['NONE']])('no urgency is %j', (word) => {
    expect(fieldOf({ ...STANDARD, hem_urgency: word })).toBe('hem_urgency')
  })

  it.each(['true', 0, 1, [], {}])('audit_accessible is not %j', (value) => {
    expect(fieldOf({ ...STANDARD, audit_accessible: value })).toBe('audit_accessible')
  })

  it.each([
    '2026-07-01',
    '2026-07-01T12:00Z',
    '2026-07-01T12:00:00',
    '2026-07-01T12:00:00+00:00',
    '2026-07-01t12:00:00z',
    '2026-07-01 12:00:00Z',
    '2026-02-29T12:00:00Z',
    '2026-13-01T12:00:00Z',
    '2026-07-01T24:00:00Z',
    '2026-07-01T12:00:60Z',
    '2026-07-01T12:00:00.Z',
    `2026-07-01T12:00:00.${'0'.repeat(30)}Z`,
    '20260701T120000Z',
    1782907200,
  ])('no time is %j', (timestamp) => {
    expect(fieldOf({ ...STANDARD, timestamp })).toBe('timestamp')
  })

  it.each(['2026-07-01T12:00:00.123456789Z', '2016-12-31T23:59:60Z', '2024-02-29T00:00:00Z'])(
    'a time is %s, kept as it is',
    (timestamp) => {
      expect(read({ ...STANDARD, timestamp })).toMatchObject({ intent: { timestamp } })
    },
  )
})

describe('metadata', () => {
  it('is an object of 4096 octets as written, 16 deep', () => {
    const text = (value: string) => readText(withText(STANDARD, 'metadata', value))
    const sized = (size: number, fill = 'a') => {
      const room = size - '{"a":""}'.length
      return `{"a":"${fill.repeat(room / utf8(fill).length)}"}`
    }
    const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
    const listed = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    expect(
      [sized(4096), sized(4096, 'é'), nested(16), listed(16), '{ }', '{"a":1.5e9}'].map(
        (v) => text(v).ok,
      ),
    ).toEqual(Array(6).fill(true))
    for (const wrong of [
      sized(4097),
      `{${' '.repeat(4095)}}`,
      sized(4098, 'é'),
      nested(17),
      listed(17),
      '[]',
      '"{}"',
      '1',
      'true',
    ]) {
      expect(text(wrong)).toMatchObject({ ok: false, field: 'metadata' })
    }
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

describe('one thing wrong', () => {
  const part = (name: string, member: string, value: unknown) => (written: Written) => ({
    ...written,
    [name]: { ...(written[name] as object), [member]: value },
  })
  const whole = (name: string, value: unknown) => (written: Written) => ({
    ...written,
    [name]: value,
  })
  const MUTATIONS: readonly (readonly [field: string, mutate: (written: Written) => Written])[] = [
    ...[...COMMON, ...STANDARD_ONLY].flatMap((name) => [
      [name, (written: Written) => without(written, name)] as const,
      [name, whole(name, null)] as const,
      [name, whole(name, [])] as const,
    ]),
    ['idp_id', whole('idp_id', IDS.so)],
    ['so_id', whole('so_id', IDS.so.toUpperCase())],
    ['session_id', whole('session_id', 'x'.repeat(257))],
    ['mandate_id', whole('mandate_id', '')],
    ['mission_ref', whole('mission_ref', 'mission-1')],
    ['step_sequence', whole('step_sequence', 0)],
    ['step_sequence', whole('step_sequence', 1.5)],
    ['requested_action', whole('requested_action', 'x'.repeat(257))],
    ['declared_goal.goal_id', part('declared_goal', 'goal_id', IDS.so)],
    ['declared_goal.description', part('declared_goal', 'description', 'x'.repeat(501))],
    ['reasoning_basis.type', part('reasoning_basis', 'type', '')],
    ['reasoning_basis.description', part('reasoning_basis', 'description', 'x'.repeat(1001))],
    ['confidence_level', whole('confidence_level', 1.0001)],
    ['confidence_level', whole('confidence_level', '0.5')],
    ['hem_urgency', whole('hem_urgency', 'MAYBE')],
    ['context_refs', whole('context_refs', ['x'])],
    ['audit_accessible', whole('audit_accessible', 'no')],
    ['metadata', whole('metadata', ['x'])],
    ['timestamp', whole('timestamp', '2026-07-01T12:00:00+02:00')],
    ['profile', whole('profile', 'IDP_STANDARD')],
  ]

  it('in any valid declaration is told by its field', () => {
    fc.assert(
      fc.property(validStandard, fc.constantFrom(...MUTATIONS), (written, [field, mutate]) => {
        expect(read(mutate(written), 'off')).toMatchObject({ ok: false, field })
      }),
      { numRuns: draws(5000, 1000) },
    )
  })
})

describe('the octets', () => {
  const text = JSON.stringify(STANDARD)
  it.each([
    ['nothing', utf8('')],
    ['white space', utf8('  ')],
    ['a byte order mark', utf8(`\ufeff${text}`)],
    ['two values', utf8(`${text}${text}`)],
    ['a name twice', utf8(text.replace('{', '{"step_sequence":1,'))],
    ['a name twice, once escaped', utf8(text.replace('{', '{"\\u0073tep_sequence":1,'))],
    ['a name twice inside', utf8(text.replace('"goal_id"', '"description":"x","goal_id"'))],
    ['a lone surrogate', utf8(text.replace('session-1', '\\ud800'))],
    ['a comment', utf8(`${text}//`)],
    ['a trailing comma', utf8(text.replace(/\}$/, ',}'))],
    ['ill-formed UTF-8', Uint8Array.from([...utf8(text.slice(0, -2)), 0xff, 0x22, 0x7d])],
    ['a list', utf8(`[${text}]`)],
    ['a text', utf8('"{}"')],
    ['null', utf8('null')],
    ['too many', utf8(`${text}${' '.repeat(MOST_INTENT_BYTES - text.length + 1)}`)],
    ['a million', new Uint8Array(1e6)],
    ['too deep', utf8(`{"x":${'['.repeat(2500)}${']'.repeat(2500)}}`)],
  ])('are refused as a whole: %s', (_, bytes) => {
    expect(readIntent(bytes, { pii: 'off' })).toMatchObject({ ok: false, field: 'intent' })
  })

  it('may be 6144', () => {
    expect(readText(text.padEnd(MOST_INTENT_BYTES, ' ')).ok).toBe(true)
  })

  const random = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.string({ unit: 'binary' }).map(utf8),
    fc.json().map(utf8),
  )
  /** A valid one with some octets changed, left out or put in. */
  const mutated = fc
    .tuple(
      fc.oneof(validStandard, validThin, fc.constant(STANDARD)),
      fc.array(
        fc.tuple(fc.nat(), fc.integer({ min: 0, max: 2 }), fc.uint8Array({ maxLength: 3 })),
        { minLength: 1, maxLength: 4 },
      ),
    )
    .map(([written, changes]) => {
      const bytes = [...octets(written)]
      for (const [at, gone, put] of changes) bytes.splice(at % bytes.length, gone, ...put)
      return Uint8Array.from(bytes)
    })

  it('never make the reader throw, and what is read is well-formed', () => {
    fc.assert(
      fc.property(
        fc.oneof(random, mutated),
        fc.constantFrom('reject', 'flag', 'off'),
        (bytes, pii) => {
          const got = readIntent(bytes, { pii })
          if (got.ok) expect(faultOf(intentShape, got.intent)).toBeNull()
          else expect([typeof got.field, typeof got.detail]).toEqual(['string', 'string'])
        },
      ),
      { numRuns: draws(50_000, 4000) },
    )
  })

  it('never say in a refusal what the agent wrote', () => {
    const secret = 'HARVEST'
    const values: readonly unknown[] = [secret, [secret], { [secret]: secret }]
    for (const name of [...COMMON, ...STANDARD_ONLY, 'mission_ref', 'profile', 'context_refs']) {
      for (const value of values) {
        const got = read({ ...STANDARD, [name]: value, metadata: secret })
        expect(JSON.stringify(got)).not.toContain(secret)
      }
    }
  })
})
