import { expect, it } from '@jest/globals'
import { approvalOf } from '../../support/approvals.js'
import { ask, at, start, verdicts } from './harness.js'

it('refuses while another action holds the item, and under a halt; then it closes it', async () => {
  await start()
  const { actionId } = await ask()
  const { parent } = await approvalOf(at.gate, actionId)
  const { state } = at.gate.parts
  await state.claim(parent, 'another')
  expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ why: 'in_use' })
  await state.unclaim('another')
  await at.gate.halt({ kind: 'all' }, 'olga')
  expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ why: 'frozen' })
  await at.gate.resume({ kind: 'all' }, 'olga')
  expect(await verdicts()).toEqual(['hitl_dispatched'])
  const done = await at.gate.withdraw(actionId, 'support-bot')
  const closed = (await approvalOf(at.gate, actionId)).state
  expect(done).toEqual({ kind: 'withdrawn', ...Object(ids(closed)) })
  expect(await verdicts()).toEqual(['hitl_dispatched', 'resolved'])
})

const ids = (state: object) => ({
  actionId: Object(state).actionId,
  capsuleId: Object(state).capsuleId,
})
