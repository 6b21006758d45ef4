import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { OutcomeReport } from '../../../src/gate/operate/outcome.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

const report = (actionId: string, status: OutcomeReport['status'] = 'confirmed') =>
  at.gate.recordOutcome({ actionId, status, ref: 'ticket-9', by: 'olga' })

it('knows no outcome of an action that no line names', async () => {
  expect(await report('019ca945-0a00-7000-8000-000000000000')).toEqual({ kind: 'unknown_action' })
})

it('has none of a call that was refused', async () => {
  const { actionId, capsuleId } = Object(await at.gate.govern(refund('600'), tool().dispatch))
  expect(await report(actionId)).toEqual({ kind: 'never_dispatched', capsuleId })
})

it('has none yet of a call that is being sent', async () => {
  const seen: unknown[] = []
  await at.gate.govern(refund('5'), async (order) => {
    seen.push(await report(order.actionId))
    return tool().dispatch(order)
  })
  expect(seen).toEqual([{ kind: 'in_flight' }])
})

it.each([
  ['confirmed', 'dispatched'],
  ['failed', 'failed'],
  ['reverted', 'reverted'],
] as const)('%s by a report is recorded as a claim beside the original', async (status, effect) => {
  const { actionId, capsuleId } = Object(await at.gate.govern(refund('5'), tool().dispatch))
  const recorded = await report(actionId, status)
  if (recorded.kind !== 'recorded') throw new Error(recorded.kind)
  const { capsule } = recorded
  expect(recorded.actionId).not.toBe(actionId)
  expect(capsule).toMatchObject({
    action_id: recorded.actionId,
    'dev.capsulegate.outcome_of': capsuleId,
    effect: { status: effect },
  })
  expect(JSON.stringify(capsule)).not.toContain('olga')
  expect(await at.gate.data.evidence.byAction(recorded.actionId)).toMatchObject({
    value: [{ kind: 'observation', name: 'outcome', value: { by: 'olga' } }],
  })
  // The original stays the capsule of its action, and takes a second outcome.
  expect(await at.gate.read.action(actionId)).toMatchObject({
    concluded: { capsule: { capsule_id: capsuleId } },
  })
  expect(await report(actionId, status)).toMatchObject({ kind: 'recorded' })
})
