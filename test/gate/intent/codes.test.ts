import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { REGISTERED } from '../../../src/core/intent/codes.js'
import type { Declared } from '../../../src/core/intent/model.js'
import type { LineOf } from '../../../src/core/journal/vocabulary.js'
import { DECLARE_ROWS } from '../../../src/core/verdict/intent-rows.js'
import { TABLE } from '../../../src/core/verdict/table.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import type { JournalLine } from '../../../src/ports/journal.js'
import { expectConformance } from '../../support/conformance.js'
import { happen } from '../../support/happen.js'
import { DECLARED, ELSE, INTENT_SCENARIOS } from '../../support/intent-scenarios.js'
import { MISSION } from '../../support/intents.js'
import type { Rig } from '../../support/rig.js'

/**
 * What the agent gets and what the journal has, for each code of seed intent-declaration-primitive-01 §6.2 and
 * §11 and for each row of ours beside them.
 */
type Row = keyof typeof INTENT_SCENARIOS | keyof typeof DECLARED
type Expected = {
  readonly result: 'REJECT' | 'DENY' | 'SESSION_HEM_PENDING' | 'ERROR'
  /** Registered, or null: the row's own URN. */
  readonly code: string | null
  readonly status: number
  /** The types of the lines of this call, in order. */
  readonly lines: readonly string[]
  /** Whether `idp_received` is the declaration; it never is in a REJECT. */
  readonly echoes?: false
  readonly hem?: true
  readonly more?: { readonly [name: string]: unknown }
}
const BEGINS = ['SESSION_OPENED', 'MANDATE_PRESENTED', 'IDP_SUBMITTED']
const reject = (code: string | null, status: number, more: Expected['more'] = {}): Expected => ({
  result: 'REJECT',
  code,
  status,
  lines: ['CAPSULE'],
  more,
})
const deny = (
  code: string | null,
  status: number,
  lines: readonly string[],
  more: Omit<Expected, 'result' | 'code' | 'status' | 'lines'> = {},
): Expected => ({ result: 'DENY', code, status, lines, ...more })

const TABLE_OF_CODES: Readonly<Record<Row, Expected>> = {
  // §6.2
  policy_denied: deny('POLICY_DENY', 403, [...BEGINS, 'CAPSULE', 'CEDAR_DENY_RECORDED'], {
    hem: true,
  }),
  mandate_scope: deny('MANDATE_SCOPE', 403, [...BEGINS, 'CAPSULE']),
  object_state_invalid: deny('SO_STATE_INVALID', 409, [...BEGINS, 'CAPSULE'], {
    more: { object_state: 'settled', available_actions: ['look_up'] },
  }),
  session_pending: deny('HEM_PENDING', 409, ['IDP_SUBMITTED', 'CAPSULE'], {
    more: { approval_id: expect.any(String) },
  }),
  mandate_revoked: deny('MANDATE_REVOKED', 403, ['CAPSULE']),
  cross_principal: deny('CROSS_PRINCIPAL_UNRESOLVED', 409, [...BEGINS, 'CAPSULE']),
  mission_invalid: deny('MISSION_INVALID', 403, [...BEGINS, 'CAPSULE']),
  intent_mission_mismatch: deny(
    'IDP_MISSION_REF_MISMATCH',
    403,
    ['SESSION_OPENED', 'CAPSULE', 'IDP_MISSION_REF_MISMATCH_REJECTED'],
    { more: { mismatch_detail: { expected_mission_ref: MISSION, submitted_mission_ref: ELSE } } },
  ),
  // §5.2 a–f, §7
  intent_missing: reject('IDP_MISSING', 400),
  intent_malformed: reject('IDP_MALFORMED', 400, { field: 'confidence_level' }),
  intent_step_stale: reject('IDP_MALFORMED', 409, { field: 'step_sequence', last_committed: 7 }),
  intent_duplicate: reject('IDP_DUPLICATE', 409, { earlier_action_id: expect.any(String) }),
  intent_object_mismatch: reject('IDP_SO_MISMATCH', 403),
  intent_mandate_mismatch: reject('IDP_MANDATE_MISMATCH', 403),
  intent_thin_refused: reject('IDP_THIN_NOT_ACCEPTED', 403),
  // Ours
  mandate_missing: reject(null, 401),
  mandate_invalid: reject(null, 401, { fault: 'audience' }),
  intent_session_mismatch: reject(null, 403),
  session_over: deny(null, 403, ['CAPSULE']),
  mandate_unverifiable: {
    result: 'ERROR',
    code: null,
    status: 503,
    lines: ['CAPSULE'],
    echoes: false,
  },
  approval_pending: {
    result: 'SESSION_HEM_PENDING',
    code: null,
    status: 202,
    lines: [...BEGINS, 'CAPSULE', 'APPROVAL_OPENED'],
    echoes: false,
    hem: true,
    more: { approval_id: expect.any(String) },
  },
}

let at: Rig | null = null
afterEach(async () => {
  if (at !== null) await expectConformance(at)
  await at?.close()
  at = null
})

const sentAs = (declared: Declared | undefined): unknown =>
  declared?.kind === 'carried' && declared.intent !== null
    ? JSON.parse(Buffer.from(declared.intent).toString('utf8'))
    : null
const types = (lines: readonly JournalLine[]): string[] => lines.map(({ type }) => type)
const submittedIn = (lines: readonly JournalLine[]): LineOf<'IDP_SUBMITTED'> | undefined =>
  lines.find(({ type }) => type === 'IDP_SUBMITTED') as LineOf<'IDP_SUBMITTED'> | undefined

describe('a declared call that is not sent', () => {
  it.each(Object.entries(TABLE_OF_CODES) as [Row, Expected][])('%s', async (row, expected) => {
    const scenario = { ...INTENT_SCENARIOS, ...DECLARED }[row]
    const { answer, capsules, lines, requests, ...ended } = await happen(scenario)
    at = ended.rig
    const { result, status, code: registered, echoes = true, hem = false, more = {} } = expected

    const kind = result === 'SESSION_HEM_PENDING' ? 'pending' : 'refused'
    expect(answer).toMatchObject({ kind, code: row, status, verdict: TABLE[row].verdict })
    if (answer.kind !== 'refused' && answer.kind !== 'pending') throw new Error(answer.kind)
    const { problem } = answer
    const code = registered ?? `urn:capsule-gate:error:${row}`
    const isEchoed = echoes && result === 'DENY'
    expect(problem).toMatchObject({
      result,
      status,
      deny_code: code,
      deny_reason: TABLE[row].said,
      hem_available: hem,
      available_actions: expect.any(Array),
      suggested_paths: expect.any(Array),
      dispatched: false,
      ...more,
    })
    expect(problem.error_code).toBe(result === 'REJECT' ? code : undefined)
    expect(problem.idp_received).toEqual(isEchoed ? sentAs(scenario.call.declared) : null)
    expect('mismatch_detail' in problem).toBe(row === 'intent_mission_mismatch')

    expect(requests).toBe(0)
    expect(types(lines)).toEqual(expected.lines)
    expect(capsules).toHaveLength(1)
    const [line] = capsules
    if (line === undefined) throw new Error('no capsule')
    const { capsule } = line
    expect([problem.capsule_id, problem.action_id]).toEqual([capsule.capsule_id, capsule.action_id])
    expect(problem.timestamp).toBe(capsule.timestamp)
    expect(capsule.disposition).toMatchObject({ verdict_class: TABLE[row].verdict })
    expect(capsule.effect).toBeUndefined()
    const submitted = submittedIn(lines)
    expect(capsule['dev.capsulegate.intent_ref']).toBe(submitted?.event_id)
    if (submitted !== undefined) expect(submitted.action_id).toBe(capsule.action_id)
    const verified = verifyStatement(statementOf(line), {
      keys: at.gate.data.keys(),
      crypto: nodeCrypto,
    })
    expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
    expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
  })

  it('has every registered code, and every row', () => {
    const codes = Object.values(TABLE_OF_CODES).flatMap(({ code }) => code ?? [])
    expect([...new Set(codes)].sort()).toEqual(Object.keys(REGISTERED).sort())
    for (const { code, result } of Object.values(TABLE_OF_CODES)) {
      const meant = Object.entries(REGISTERED).find(([name]) => name === code)?.[1]
      if (meant !== undefined) expect(meant.answer).toBe(result)
    }
    for (const row of Object.keys(DECLARE_ROWS)) expect(TABLE_OF_CODES).toHaveProperty(row)
  })
})
