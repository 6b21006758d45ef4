import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { verifyReceipts } from '../../../src/capseal.js'
import { build } from '../../../src/core/cps/build.js'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import { actOf, authorityOf, outcomeOf } from '../../../src/core/projection/act.js'
import { createReceiptChain } from '../../../src/core/projection/receipts.js'
import { cpsContent, uuidOf } from '../../../src/core/projection/to-cps.js'
import { capsealAction } from '../../../src/core/projection/to-receipt.js'
import { validateCps } from '../../../src/cps.js'
import { happen } from '../../support/happen.js'
import { DECLARED, INTENT_SCENARIOS } from '../../support/intent-scenarios.js'
import type { Rig } from '../../support/rig.js'
import { SCENARIOS, type Scenario, SECRET } from '../../support/verdict-scenarios.js'

/** What every end of a call is in the other two formats. */
const ROWS: readonly [string, Scenario][] = Object.entries({
  ...SCENARIOS,
  ...INTENT_SCENARIOS,
  ...DECLARED,
})
/** Nothing of it may stand in what is public. */
const PRIVATE = new RegExp(`${SECRET}|large-refund|closed-to-others|alice|overflow`)

let at: Rig | null = null
afterEach(async () => {
  await at?.close()
  at = null
})

async function projected(scenario: Scenario) {
  const ended = await happen(scenario)
  at = ended.rig
  const lines = (await ended.rig.lines()).flatMap((raw) => readLine(raw) ?? [])
  const of = ended.capsules.at(-1)
  const line = lines.find((each) => each.type === 'CAPSULE' && each.seq === of?.seq)
  if (line?.type !== 'CAPSULE') return null
  const dispatched = lines.find(
    (each) => each.type === 'ACTION_DISPATCHED' && each.action_id === line.capsule.action_id,
  )
  const isDispatch = dispatched?.type === 'ACTION_DISPATCHED'
  return actOf({ line, dispatched: isDispatch ? dispatched : null }, 'com.acme.payments')
}

describe('each row of the verdict table', () => {
  it.each(ROWS)('%s', async (_, scenario) => {
    const act = await projected(scenario)
    // A row that repeats an earlier answer has no capsule of its own.
    if (act === null) return
    const { capsule } = act
    const built = build({ ...cpsContent(act), sequence: 0, previous_hash: null })
    if (!built.ok) throw new Error(`${built.code} ${built.field}`)
    expect(validateCps(built.canonical, { crypto: nodeCrypto })).toEqual({ ok: true, findings: [] })
    const action = capsealAction(act)
    const line = createReceiptChain(13, nodeCrypto).add(action)
    expect(verifyReceipts(line, { crypto: nodeCrypto })).toMatchObject({ ok: true, fields: 13 })
    for (const shown of [built.canonical, line]) expect(shown).not.toMatch(PRIVATE)

    const made = JSON.parse(built.canonical)
    const status = capsule.effect?.status
    const { verdict_class, human_disposed, decision } = capsule.disposition
    expect(made.outcome.status === 'success').toBe(status === 'confirmed')
    expect(made.outcome.status === 'failure').toBe(status === 'failed')
    expect(made.authority.type === 'human_approved').toBe(human_disposed && decision === 'accept')
    expect(made.authority.approver).toBeNull()
    expect(made.execution.tool_calls).toHaveLength(capsule.effect === undefined ? 0 : 1)
    expect(made.outcome.side_effects).toHaveLength(status === 'confirmed' ? 1 : 0)
    expect(made.reasoning).toMatchObject({
      analysis: '',
      reasoning: '',
      confidence: 0,
      model: null,
    })
    expect(made.outcome.result.verdict_class).toBe(verdict_class)
    expect(made.context.environment.aac_capsule_id).toBe(capsule.capsule_id)
    expect(made.id).toBe(uuidOf(capsule.capsule_id))
    expect(made.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect([action.action_id, action.success]).toEqual([
      `aac:${capsule.capsule_id}`,
      status === 'confirmed',
    ])
    expect(action.policy_verdict === null).toBe(verdict_class === 'engine_failure')
    expect(outcomeOf(capsule)).toBe(
      status === undefined
        ? ['hitl_dispatched', 'needs_decision'].includes(verdict_class)
          ? 'waiting'
          : 'stopped'
        : { confirmed: 'confirmed', failed: 'failed', dispatched: 'unconfirmed' }[status as string],
    )
    expect(authorityOf(capsule)).toBe(
      ['hitl_dispatched', 'needs_decision'].includes(verdict_class) ? 'escalated' : 'policy',
    )
  })
})

describe('receipts', () => {
  it('stand one on another, and change with anything in them', async () => {
    const [[, scenario] = []] = ROWS.filter(([name]) => name === 'executed')
    const act = scenario === undefined ? null : await projected(scenario)
    if (act === null) throw new Error('no act')
    for (const fields of [12, 13] as const) {
      const chain = createReceiptChain(fields, nodeCrypto)
      const lines = [1, 2, 3].map((n) =>
        chain.add({ ...capsealAction(act), action_id: `aac:${n}` }),
      )
      expect(verifyReceipts(lines, { crypto: nodeCrypto })).toMatchObject({ ok: true, fields })
      const [first, second, third] = lines as [string, string, string]
      expect(verifyReceipts([first, third, second]).ok).toBe(false)
    }
  })
})
