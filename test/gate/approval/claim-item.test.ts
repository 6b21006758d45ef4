import { expect, it } from '@jest/globals'
import { claimItem } from '../../../src/gate/approval/claim-item.js'
import { approvalOf } from '../../support/approvals.js'
import { ask, at, DENY, LATER, say, start } from './harness.js'

it('has one holder at a time, and returns the item as it is now', async () => {
  await start()
  const { actionId } = await ask()
  const seen = await approvalOf(at.gate, actionId)
  const { parts } = at.gate
  expect(await claimItem(seen, 'a-1', parts)).toMatchObject({ approvalId: actionId })
  expect(await claimItem(seen, 'a-2', parts)).toBe('held')
  await parts.state.unclaim('a-1')
  expect(await claimItem(seen, 'a-2', parts)).toMatchObject({ approvalId: actionId })
  await parts.state.unclaim('a-2')
})

it.each([
  ['closed', DENY],
  ['under another parent', LATER],
])('does not return one that is %s by then', async (_, outcome) => {
  await start()
  const { actionId } = await ask()
  const seen = await approvalOf(at.gate, actionId)
  await say(actionId, outcome)
  expect(await claimItem(seen, 'a-1', at.gate.parts)).toBe('moved')
  await at.gate.parts.state.unclaim('a-1')
})
