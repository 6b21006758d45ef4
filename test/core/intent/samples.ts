import fc from 'fast-check'
import { utf8 } from '../../../src/core/bytes/text.js'
import type { Mandate } from '../../../src/core/intent/model.js'

/** A declaration as an agent writes it. */
export type Written = { readonly [name: string]: unknown }

export const IDS = {
  idp: '7d9f3a52-0c7e-4b1a-9a43-2f6a5d0b8c11',
  so: '0198c0de-1234-7abc-8def-0123456789ab',
  mission: '0198c0de-aaaa-7abc-8def-0123456789ab',
  goal: '11111111-2222-4333-8444-555555555555',
  other: '99999999-8888-4777-a666-555555555555',
} as const

export const STANDARD = {
  idp_id: IDS.idp,
  session_id: 'session-1',
  so_id: IDS.so,
  mandate_id: 'mandate-1',
  mission_ref: IDS.mission,
  step_sequence: 1,
  requested_action: 'create_refund',
  declared_goal: { goal_id: IDS.goal, description: 'Give the customer the money back.' },
  reasoning_basis: { type: 'INFERENCE', description: 'The parcel was lost.' },
  confidence_level: 0.75,
  hem_urgency: 'NONE',
  timestamp: '2026-07-01T12:00:00Z',
} as const satisfies Written

export const THIN = {
  idp_id: IDS.idp,
  session_id: 'session-1',
  so_id: IDS.so,
  mandate_id: 'mandate-1',
  step_sequence: 1,
  requested_action: 'create_refund',
  profile: 'IDP_THIN',
  timestamp: '2026-07-01T12:00:00Z',
} as const satisfies Written

export const octets = (written: unknown): Uint8Array => utf8(JSON.stringify(written))
export const without = (written: Written, name: string): Written =>
  Object.fromEntries(Object.entries(written).filter(([member]) => member !== name))

export const MANDATE: Mandate = {
  id: 'mandate-1',
  issuer: 'https://issuer.example',
  agent: 'support-bot',
  sessionId: null,
  soId: IDS.so,
  soType: null,
  actions: ['create_refund'],
  permittedStates: null,
  missionRef: IDS.mission,
  principal: null,
  delegation: ['a', 'b'],
  expiresAt: '2026-07-01T13:00:00Z',
}

// ── Generators ───────────────────────────────────────────────────────────────
export const uuid4 = fc.uuid({ version: 4 })
export const uuid7 = fc.uuid({ version: 7 })
const text = (most: number) =>
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: most })
    .filter((t) => !/\p{Surrogate}/u.test(t))
const goalText = text(40)
const time = fc
  .date({
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString())
const common = {
  idp_id: uuid4,
  session_id: text(30),
  so_id: fc.oneof(uuid4, uuid7),
  mandate_id: text(30),
  step_sequence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  requested_action: text(30),
  timestamp: time,
}
const optional = {
  context_refs: fc.array(fc.oneof(uuid4, uuid7), { maxLength: 5 }),
  audit_accessible: fc.boolean(),
  metadata: fc.dictionary(text(5), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
  endorsed_eod_id: fc.jsonValue({ maxDepth: 2 }),
}
export const validStandard: fc.Arbitrary<Written> = fc.record(
  {
    ...common,
    ...optional,
    mission_ref: uuid7,
    declared_goal: fc.record({ goal_id: uuid4, description: goalText }),
    reasoning_basis: fc.record({
      type: fc.constantFrom('RULE_BASED', 'INFERENCE', 'UNCERTAINTY_REDUCTION', 'urn:x:own'),
      description: text(60),
    }),
    confidence_level: fc.double({ min: 0, max: 1, noNaN: true }),
    hem_urgency: fc.constantFrom('NONE', 'RECOMMENDED', 'REQUIRED'),
  },
  {
    requiredKeys: [
      'idp_id',
      'session_id',
      'so_id',
      'mandate_id',
      'step_sequence',
      'requested_action',
      'timestamp',
      'declared_goal',
      'reasoning_basis',
      'confidence_level',
      'hem_urgency',
    ],
  },
)
export const validThin: fc.Arbitrary<Written> = fc.record(
  {
    ...common,
    ...optional,
    profile: fc.constant('IDP_THIN'),
    hem_urgency: fc.constantFrom('NONE', 'REQUIRED'),
  },
  {
    requiredKeys: [
      'idp_id',
      'session_id',
      'so_id',
      'mandate_id',
      'step_sequence',
      'requested_action',
      'timestamp',
      'profile',
    ],
  },
)
