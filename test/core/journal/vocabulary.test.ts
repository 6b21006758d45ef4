import { describe, expect, it } from '@jest/globals'
import { GateError } from '../../../src/core/error.js'
import { capsuleEntry, lineOf as lineOfEntry, plainEntry } from '../../../src/core/journal/entry.js'
import {
  isSignedType,
  type JournalLine,
  LINES,
  type LineType,
  readLine,
} from '../../../src/core/journal/vocabulary.js'
import type { Members, Shape } from '../../../src/core/json/shape.js'
import { toSign } from '../../../src/core/statement/sign.js'
import { capsuleWith, membersOf, SIGNATURE, SMALLEST } from '../../support/lines.js'
import { samples } from '../capsule/samples.js'

/**
 * Every type of line, with each of its members missing, of another type, and with members of a later
 * version beside them. Samples hold every member a type may have, so that none goes untried.
 */
const D = 'a'.repeat(64)
const TIME = '2026-03-01T12:00:00.000Z'
const octets = {
  alg: 'sha-256',
  digest: D,
  length: 3,
  content_type: 'application/json',
  content_encoding: 'gzip',
  status: 200,
  complete: true,
}
const constraint = {
  id: 'com.acme.cap',
  result: 'pass',
  severity: 'high',
  blocking: false,
  check_type: 'limit',
  method: 'dev.capsulegate.decimal_compare',
  evidence_digest: D,
}
const wholeCapsule = capsuleWith({
  effect: {
    effect_attestation: 'gate_executed',
    request_digest: D,
    response_digest: D,
    external_ref: 're_1',
    'dev.capsulegate.request_octets': octets,
    'dev.capsulegate.response_octets': octets,
    'dev.capsulegate.response_binding': 'json',
  },
  disposition: {
    authority: 'grant',
    reason_digest: D,
    expiry_policy: { ttl_seconds: 60, on_expiry: 'expired' },
  },
  constraints: [constraint],
  chain: { parent_capsule_id: D, relation: 'supersedes' },
  'dev.capsulegate.manifest_digest': D,
  'dev.capsulegate.policy_digest': D,
  'dev.capsulegate.mode': 'enforce',
  'dev.capsulegate.decision_id': 'a-1',
  'dev.capsulegate.intent_ref': 'i-1',
  'dev.capsulegate.deadline': { ttl_seconds: 60, on_expiry: 'timeout' },
  'dev.capsulegate.outcome_of': D,
  'dev.capsulegate.recovered': true,
})
const standing = {
  grant: 'g-1',
  standing: true,
  agent: 'bot',
  tool: 'pay',
  sealed_bounds: 'AA',
  expires_at: TIME,
  uses: 2,
  voter: D,
  evidence_digest: D,
}

const { sealed_bounds: _, ...unsealed } = standing
const actor = { actor: D, evidence_digest: D }

const declaredStep = {
  idp_id: 'i-1',
  session_id: 's-1',
  so_id: 'o-1',
  step_sequence: 2,
  cedar_action: 'ProcessPayment',
  from_state: 'created',
  to_state: 'paid',
}

/** Optional members of each type, and its other shapes. */
const FULL: readonly (readonly [name: string, type: LineType, members: object])[] = [
  ...(Object.keys(SMALLEST) as LineType[]).map((type) => [type, type, SMALLEST[type]] as const),
  [
    'ACTION_DISPATCHED with every claim',
    'ACTION_DISPATCHED',
    {
      ...SMALLEST.ACTION_DISPATCHED,
      request_octets: octets,
      constraints: [constraint],
      key: D,
      grant: 'g-1',
      supersedes: D,
      budgets: [{ constraint: 'c', scope: D, window_seconds: 60, kind: 'sum' }],
      amounts: 'AA',
      acts: 'runtime',
      intent: { ...declaredStep, event_id: 'e-1' },
    },
  ],
  [
    'ACTION_DISPATCHED with a clear amount, of before they were sealed',
    'ACTION_DISPATCHED',
    {
      ...SMALLEST.ACTION_DISPATCHED,
      budgets: [{ constraint: 'c', scope: D, window_seconds: 60, kind: 'sum', amount: '1.50' }],
    },
  ],
  [
    'CAPSULE with everything',
    'CAPSULE',
    {
      ...SMALLEST.CAPSULE,
      capsule: wholeCapsule,
      settles: { action_id: 'a-1', outcome: 'commit', replayable: true },
      about: { agent: 'bot', tool: 'pay', request_digest: D },
      captured: ['request', 'response'],
      report_digest: D,
    },
  ],
  [
    'APPROVAL_OPENED of today',
    'APPROVAL_OPENED',
    {
      ...SMALLEST.APPROVAL_OPENED,
      ladder: [{ roles: ['boss'], after_seconds: 60 }],
      reminders: [30],
      refusal_seconds: 60,
      call_identity: D,
      session_id: 's-1',
      holds: 'session',
    },
  ],
  [
    'APPROVAL_OPENED about a call that its session waits for',
    'APPROVAL_OPENED',
    { ...SMALLEST.APPROVAL_OPENED, session_id: 's-1', holds: 'call' },
  ],
  ['APPROVAL_VOTED by a person', 'APPROVAL_VOTED', { ...SMALLEST.APPROVAL_VOTED, assurance: 'L2' }],
  [
    'GRANT_ISSUED of an approval',
    'GRANT_ISSUED',
    { ...SMALLEST.GRANT_ISSUED, approval_id: 'a-1', standing: false },
  ],
  ['GRANT_ISSUED, standing', 'GRANT_ISSUED', standing],
  [
    'GRANT_ISSUED, standing, of before bounds were sealed',
    'GRANT_ISSUED',
    { ...unsealed, bounds: { cap: { amount: { lte: '5' } } } },
  ],
  [
    'REFUSALS_DROPPED of an agent',
    'REFUSALS_DROPPED',
    { ...SMALLEST.REFUSALS_DROPPED, agent: 'bot' },
  ],
  ['HALT of one agent', 'HALT', { scope: { kind: 'agent', name: 'bot' }, ...actor }],
  ['HALT of before pseudonyms', 'HALT', { scope: { kind: 'all' }, by: 'ops' }],
  ['RESUME of before pseudonyms', 'RESUME', { scope: { kind: 'all' }, by: 'ops' }],
  [
    'CONFIG_CHANGED with manifests',
    'CONFIG_CHANGED',
    { ...SMALLEST.CONFIG_CHANGED, manifest_digests: [D] },
  ],
  ['EVIDENCE_ERASING of a subject', 'EVIDENCE_ERASING', { subject_tag: D, ...actor, key: 'ab' }],
  [
    'EVIDENCE_ERASED of a subject',
    'EVIDENCE_ERASED',
    { subject_tag: D, ...actor, key: 'ab', names_digest: D, records: 3 },
  ],
  ['EVIDENCE_ERASING of before pseudonyms', 'EVIDENCE_ERASING', { subject_tag: D, by: 'ops' }],
  [
    'EVIDENCE_ERASED of before pseudonyms',
    'EVIDENCE_ERASED',
    { subject_tag: D, by: 'ops', records: 3 },
  ],
  ['SESSION_OPENED by an operator', 'SESSION_OPENED', { ...SMALLEST.SESSION_OPENED, ...actor }],
  [
    'SESSION_CLOSED by an operator',
    'SESSION_CLOSED',
    { session_id: 's-1', reason: 'operator', ...actor },
  ],
  ...(['refused', 'unanswered', 'nobody_to_ask'] as const).map(
    (reason) =>
      [`SESSION_CLOSED, ${reason}`, 'SESSION_CLOSED', { session_id: 's-1', reason }] as const,
  ),
  [
    'IDP_SUBMITTED with what was declared',
    'IDP_SUBMITTED',
    {
      ...SMALLEST.IDP_SUBMITTED,
      profile: 'IDP_THIN',
      declared: {
        goal_id: 'g-1',
        reasoning_type: 'INSTRUCTION',
        confidence_level: '0.9000',
        hem_urgency: 'NONE',
        mission_ref: 'mission-1',
      },
    },
  ],
  [
    'IDP_SUBMITTED with a declaration that names no goal',
    'IDP_SUBMITTED',
    {
      ...SMALLEST.IDP_SUBMITTED,
      declared: {
        goal_id: null,
        reasoning_type: 'UNSPECIFIED',
        confidence_level: '0.5000',
        hem_urgency: 'NONE',
        mission_ref: null,
      },
    },
  ],
  [
    'IDP_MISSION_REF_MISMATCH_REJECTED of another mission',
    'IDP_MISSION_REF_MISMATCH_REJECTED',
    { ...SMALLEST.IDP_MISSION_REF_MISMATCH_REJECTED, submitted_mission_ref: 'mission-2' },
  ],
  [
    'STATE_TRANSITIONED between two states',
    'STATE_TRANSITIONED',
    { ...SMALLEST.STATE_TRANSITIONED, ...declaredStep, principal: D },
  ],
  [
    'ACTION_RESULT_RECORDED of an unseen outcome',
    'ACTION_RESULT_RECORDED',
    { ...SMALLEST.ACTION_RESULT_RECORDED, ...declaredStep, to_state: null, result: 'unconfirmed' },
  ],
  [
    'IDP_COMMITMENT_VERIFIED of what was judged',
    'IDP_COMMITMENT_VERIFIED',
    {
      ...SMALLEST.IDP_COMMITMENT_VERIFIED,
      record: { ...SMALLEST.IDP_COMMITMENT_VERIFIED.record, basis: 'judged' },
    },
  ],
  ['SEGMENT_SEALED of version 1', 'SEGMENT_SEALED', { segment: 1, size: 2, root: D, head: D }],
]

const lineOf = (type: LineType, members: object): JournalLine => ({
  v: 2,
  origin: 'gate-1',
  seq: 7,
  prev: D,
  at: TIME,
  type,
  ...members,
  ...(isSignedType(type) ? SIGNATURE : {}),
})

/** Every place in a JSON value that has a value, parents before children. */
function* places(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    yield [...path, name]
    yield* places(member, [...path, name])
  }
}
function changed(value: object, path: readonly string[], to: (old: unknown) => unknown): object {
  const copy = structuredClone(value)
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((at, name) => Reflect.get(Object(at), name), copy)
  const last = path.at(-1) ?? ''
  const next = to(Reflect.get(Object(holder), last))
  if (next === undefined) Reflect.deleteProperty(Object(holder), last)
  else Reflect.set(Object(holder), last, next)
  return copy
}
/** Whether the shape lets the member at this path be absent; null where shapes do not say. */
function isOptional(
  shape: Shape<unknown> | undefined,
  [name, ...rest]: readonly string[],
): boolean | null {
  const member = name === undefined ? undefined : (shape?.members as Members | undefined)?.[name]
  if (member === undefined) return null
  if (rest.length > 0) return isOptional('optional' in member ? member.optional : member, rest)
  return 'optional' in member
}
/** Whether the member at this path may be null. */
function isNullable(
  shape: Shape<unknown> | undefined,
  [name, ...rest]: readonly string[],
): boolean {
  const member = name === undefined ? undefined : (shape?.members as Members | undefined)?.[name]
  if (member === undefined) return false
  const of = 'optional' in member ? member.optional : member
  return rest.length > 0 ? isNullable(of, rest) : of.fault(null) === null
}
/** Without it, or with another, the members are held to the other shape of their type. */
const TELLS_SHAPES: ReadonlySet<string> = new Set([
  'GRANT_ISSUED standing',
  'GRANT_ISSUED sealed_bounds',
  'HALT by',
  'EVIDENCE_ERASING by',
  'EVIDENCE_ERASING subject_tag',
  'EVIDENCE_ERASED by',
  'EVIDENCE_ERASED subject_tag',
  'RESUME by',
  'SEGMENT_SEALED head',
  'SESSION_OPENED actor',
  'SESSION_CLOSED actor',
])

/** A value that no member of any line may be: neither of these types, nor an object of ours. */
const WRONG: readonly unknown[] = [null, 7.5, { other: 1 }, [[]]]

describe.each(FULL)('%s', (_, type, members) => {
  const line = lineOf(type, members)
  const paths = [...places(members)]

  it('is read as it stands, the same object', () => {
    expect(readLine(line)).toBe(line)
  })

  it('is refused with a required member missing, at any depth, and named', () => {
    for (const path of paths) {
      const without = changed(line, path, () => undefined)
      const optional = isOptional(LINES[type].members, path)
      if (optional === null || TELLS_SHAPES.has(`${type} ${path.join()}`)) continue
      const read = () => readLine(without as JournalLine)
      if (optional) expect(read()).toBe(without)
      else {
        expect(read).toThrow(GateError)
        expect(read).toThrow(`journal line 7 (${type}): `)
        expect(read).toThrow(path.at(-1))
      }
    }
  })

  it('is refused with a member of another type, at any depth', () => {
    for (const path of paths) {
      // What bounds hold is read against the tool they bound (core/approval/bounds.ts).
      if (path[0] === 'bounds' && path.length > 1) continue
      for (const wrong of WRONG) {
        if (wrong === null && isNullable(LINES[type].members, path)) continue
        const isObject = (value: unknown) => typeof value === 'object' && value !== null
        const bad = changed(line, path, (old) =>
          isObject(old) && isObject(wrong) && Array.isArray(old) === Array.isArray(wrong)
            ? 'x'
            : wrong,
        )
        expect(() => readLine(bad as JournalLine)).toThrow(GateError)
      }
    }
  })

  it('keeps members of a later version, at any depth', () => {
    const objects = [[], ...paths].filter((path) => {
      // The names in it are types of lines, not members.
      if (path.join() === 'counts') return false
      const value = path.reduce<unknown>((at, name) => Reflect.get(Object(at), name), line)
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    })
    for (const path of objects) {
      const later = changed(line, [...path, 'later_member'], () => ({
        of: ['a', 'later', 'version'],
      }))
      expect(readLine(later as JournalLine)).toBe(later)
      expect(JSON.stringify(readLine(later as JournalLine))).toContain('later_member')
    }
  })
})

describe('the vocabulary', () => {
  it.each(Object.keys(LINES) as LineType[])(
    '%s is refused unsigned exactly if it is a signed type',
    (type) => {
      const { kid, sig, ...unsigned } = lineOf(type, SMALLEST[type])
      for (const half of [{}, { kid: 'aa' }, { sig: 'AA' }]) {
        const read = () => readLine({ ...unsigned, ...half } as JournalLine)
        if (isSignedType(type)) expect(read).toThrow(GateError)
        else expect(read).not.toThrow()
      }
    },
  )

  it.each(['SOMETHING_NEW', 'toString', '__proto__', 'constructor'])(
    'knows no type %s: the line is passed over, not obeyed',
    (type) => {
      expect(readLine({ ...lineOf('HALT', SMALLEST.HALT), type })).toBeNull()
    },
  )

  it('shows no member that a type does not have', () => {
    for (const [type, { shown, members }] of Object.entries(LINES)) {
      for (const name of shown)
        expect([type, Object.keys(members.members ?? {})]).toEqual([
          type,
          expect.arrayContaining([name]),
        ])
    }
  })

  it.each([
    ['GRANT_ISSUED', standing, 'standing', 'request_digest'],
    ['EVIDENCE_ERASED', { subject_tag: D, ...actor, records: 1 }, 'subject_tag', 'operator'],
    ['GRANT_ISSUED', standing, 'sealed_bounds', 'bounds'],
    ['SEGMENT_SEALED', { segment: 1, size: 2, root: D, head: D }, 'head', 'upto'],
  ] as const)(
    '%s without the member that tells its shape is held to the other',
    (type, m, name, other) => {
      const without = changed(lineOf(type, m), [name], () => undefined)
      expect(() => readLine(without as JournalLine)).toThrow(other)
    },
  )

  it('takes every capsule that the builder makes, and every line the constructors make of one', () => {
    for (const { name, capsule } of samples()) {
      const entry = capsuleEntry(toSign(capsule, 'agent_action'), {
        statement: 'agent_action',
        capsule,
        settles: { action_id: capsule.action_id, outcome: 'commit', replayable: false },
        about: { agent: '', tool: '' },
      })
      const envelope = { v: 2, origin: 'gate-1', seq: 1, prev: D, at: TIME } as const
      const line = lineOfEntry(entry, envelope, { protected: 'AA', signature: 'AA' })
      expect([name, readLine(line)]).toEqual([name, line])
    }
    const unnamed = { operator: '', agent: '', developer: '', tool: '', effect_type: '', grant: '' }
    const dispatch = plainEntry('ACTION_DISPATCHED', { ...SMALLEST.ACTION_DISPATCHED, ...unnamed })
    expect(readLine(lineOf('ACTION_DISPATCHED', dispatch.members))).not.toBeNull()
  })

  it('tries every member of every type', () => {
    for (const type of Object.keys(LINES) as LineType[]) {
      const tried = new Set(
        FULL.filter(([, of]) => of === type).flatMap(([, , m]) => Object.keys(m)),
      )
      expect([...tried].sort()).toEqual(Object.keys(LINES[type].members.members ?? {}).sort())
    }
    expect(membersOf('HALT', {})).toMatchObject(SIGNATURE)
  })
})
