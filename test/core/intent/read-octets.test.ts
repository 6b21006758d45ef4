import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { utf8 } from '../../../src/core/bytes/text.js'
import { intent as intentShape, MOST_INTENT_BYTES } from '../../../src/core/intent/model.js'
import { readIntent } from '../../../src/core/intent/read.js'
import { faultOf } from '../../../src/core/json/shape.js'
import { draws } from '../../support/draws.js'
import { COMMON, read, readText, STANDARD_ONLY } from './reading.js'
import {
  IDS,
  octets,
  STANDARD,
  validStandard,
  validThin,
  type Written,
  without,
} from './samples.js'

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
