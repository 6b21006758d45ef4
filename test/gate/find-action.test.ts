import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { findAction } from '../../src/gate/find-action.js'
import { answered, tool } from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import { type Rig, refund, rig } from '../support/rig.js'

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())
const find = (id: string) => findAction(id, at.gate.parts)

it('has a dispatch while it is being sent, and its own capsule at the end, not that of an outcome', async () => {
  const seen: unknown[] = []
  const { actionId, capsuleId } = Object(
    await at.gate.govern(refund('5'), async (order) => {
      seen.push(await find(order.actionId))
      return answered()
    }),
  )
  expect(seen).toMatchObject([{ dispatched: { action_id: actionId }, concluded: null }])
  await at.gate.recordOutcome({ actionId, status: 'reverted', ref: 'r', by: 'olga' })
  expect(await find(actionId)).toMatchObject({
    dispatched: { action_id: actionId },
    concluded: { capsule: { capsule_id: capsuleId } },
  })
})

it('has no dispatch of a refusal, and nothing of what no line names', async () => {
  const { actionId, capsuleId } = Object(await at.gate.govern(refund('600'), tool().dispatch))
  expect(await find(actionId)).toMatchObject({ dispatched: null, concluded: { type: 'CAPSULE' } })
  expect(await find('unknown')).toBeNull()
  // The journal finds a capsule by its own id too, but that is no action.
  expect(await find(capsuleId)).toEqual({ dispatched: null, concluded: null })
})
