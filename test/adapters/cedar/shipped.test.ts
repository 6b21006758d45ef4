import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import { warmUp } from '../../../src/adapters/cedar/evaluate/warm-up.js'
import { loadPolicies } from '../../../src/adapters/cedar/load/load.js'
import type { ToolRule } from '../../../src/core/manifest/model.js'
import { CANARY, CANARY_MANIFEST } from '../../../src/gate/operate/canary.js'
import type { PolicyIntent } from '../../../src/ports/policy.js'
import { manifestOf } from '../../support/manifests.js'
import { intentRequest, MANDATE, STANDARD, THIN } from './intents.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const rulesOf = (name: string): readonly ToolRule[] => {
  const text = readFileSync(join(ROOT, 'manifests', name), 'utf8')
  const declares = text.includes('intent: required')
  const { rules } = manifestOf(text.replace(/^ +(?:intent|thin): .*\n/gm, ''))
  return rules.map((rule) => (declares ? { ...rule, intent: 'required' } : rule))
}
const RULES = [...rulesOf('payments.yaml'), ...rulesOf('booking.yaml'), ...CANARY_MANIFEST.rules]

/** As `serve` loads them: the whole folder, for all manifests. */
async function shipped() {
  const loaded = await loadPolicies(join(ROOT, 'policies'), RULES)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings, null, 1))
  expect(loaded.warnings).toEqual([])
  return createCedarEngine({ set: loaded.set, rules: RULES })
}

const ARGS = {
  ReadBooking: { booking: 'b1' },
  ProcessPayment: { booking: 'b1', amount: '10.00', currency: 'EUR' },
  CloseBooking: { booking: 'b1' },
  AdvanceMissionStage: { booking: 'b1', stage: 'two' },
}
type Action = keyof typeof ARGS
const STAGE = { reasoning_type: 'MISSION_STAGE' }

describe('the policies and manifests that ship', () => {
  it('load together without a warning, and decide a sample of every action', async () => {
    const engine = await shipped()
    expect(warmUp(engine)).toEqual([])
    expect(engine.actions.filter(({ intent }) => intent === 'required')).toHaveLength(4)
  })

  it('deny the canary, which has no intent', async () => {
    const engine = await shipped()
    const asked = intentRequest(CANARY, { args: {} })
    expect(engine.decide(asked)).toMatchObject({ kind: 'deny' })
    expect(engine.decide({ ...asked, idp: STANDARD })).toMatchObject({
      kind: 'error',
      errorClass: 'request_invalid',
    })
  })

  it.each<[string, Action, PolicyIntent, string]>([
    ['a payment on an instruction', 'ProcessPayment', STANDARD, 'payment-needs-instruction'],
    ['a payment inferred', 'ProcessPayment', { ...STANDARD, reasoning_type: 'INFERENCE' }, ''],
    ['a payment declared thin', 'ProcessPayment', THIN, ''],
    ['closing at 0.8', 'CloseBooking', STANDARD, 'closing-needs-confidence'],
    [
      'closing at 1',
      'CloseBooking',
      { ...STANDARD, confidence_level: '1' },
      'closing-needs-confidence',
    ],
    ['closing at 0.7999', 'CloseBooking', { ...STANDARD, confidence_level: '0.7999' }, ''],
    ['closing declared thin', 'CloseBooking', THIN, ''],
    [
      'a stage of a mission',
      'AdvanceMissionStage',
      { ...STANDARD, ...STAGE },
      'mission-stage-needs-mission',
    ],
    [
      'a stage of no mission',
      'AdvanceMissionStage',
      { ...STANDARD, ...STAGE, mission_ref: null },
      '',
    ],
    ['a stage for another reason', 'AdvanceMissionStage', STANDARD, ''],
    ['a stage declared thin', 'AdvanceMissionStage', THIN, ''],
    ['reading declared thin', 'ReadBooking', THIN, 'read-booking'],
  ])('%s', async (_case, action, idp, by) => {
    const engine = await shipped()
    const asked = intentRequest(action, { args: ARGS[action], idp, mandate: MANDATE })
    // Twice: the second answer is a remembered one.
    for (let time = 0; time < 2; time++) {
      expect(engine.decide(asked)).toMatchObject(
        by === '' ? { kind: 'deny', policies: [] } : { kind: 'permit', policies: [by] },
      )
    }
  })

  it('permit nothing that declares nothing', async () => {
    const engine = await shipped()
    for (const [action, args] of Object.entries(ARGS)) {
      for (const more of [{}, { idp: STANDARD }, { mandate: MANDATE }]) {
        expect(engine.decide(intentRequest(action, { args, ...more }))).toMatchObject({
          kind: 'error',
          errorClass: 'request_invalid',
        })
      }
    }
  })
})
