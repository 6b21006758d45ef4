import { describe, expect, it } from '@jest/globals'
import { utf8 } from '../../../src/core/bytes/text.js'
import { fieldOf, goal, read, readText, reasoning, withText } from './reading.js'
import { IDS, STANDARD, type Written, without } from './samples.js'

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

  it('a session is named by no step of a path, because operators name it in one', () => {
    for (const session_id of ['.', '..']) {
      expect(fieldOf({ ...STANDARD, session_id })).toBe('session_id')
    }
    expect(fieldOf({ ...STANDARD, session_id: '...' })).toBeNull()
  })

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
