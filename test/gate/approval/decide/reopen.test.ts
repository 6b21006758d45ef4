import { expect, it } from '@jest/globals'
import type { Decider } from '../../../../src/gate/approval/decide/model.js'
import { machine, person } from '../../../support/approvals.js'
import { ask, at, DENY, run, say, start } from '../harness.js'

const reopen = (id: string, decider: Decider = person('bob'), reason = 'mistake') =>
  at.gate.reopen(id, { decider, reason })

it('lifts a refusal: the next call is asked about anew, and nothing is approved', async () => {
  await start()
  const { actionId } = await ask()
  await say(actionId, DENY)
  expect(await run()).toMatchObject({ code: 'approval_refused' })
  expect(await reopen(actionId)).toEqual({ kind: 'reopened' })
  const line = (await at.lines()).find(({ type }) => type === 'REFUSAL_LIFTED')
  expect(JSON.stringify(line)).not.toMatch(/bob|mistake/)
  expect(await run()).toMatchObject({ kind: 'pending' })
  expect(await reopen(actionId)).toMatchObject({ why: 'not_refused' })
})

it.each<[string, Decider]>([
  ['role', person('bob', { roles: ['viewer'] })],
  ['people_only', machine('robot')],
  ['own_request', person('support-bot')],
  ['own_request', person('support-bot@1')],
  ['own_request', person('')],
])('is refused for %s to %j, and then nothing changes', async (why, decider) => {
  await start()
  const { actionId } = await ask()
  await say(actionId, DENY)
  expect(await reopen(actionId, decider)).toMatchObject({ kind: 'refused', why })
  expect(await run()).toMatchObject({ code: 'approval_refused' })
})

it('is refused for what is unknown, was not refused, or is halted', async () => {
  await start()
  expect(await reopen('unknown')).toMatchObject({ why: 'unknown' })
  const { actionId } = await ask()
  expect(await reopen(actionId)).toMatchObject({ why: 'not_refused' })
  await say(actionId, DENY)
  await at.gate.halt({ kind: 'all' }, 'olga')
  expect(await reopen(actionId)).toMatchObject({ why: 'frozen' })
})

it('also by an operator, who need not be among those asked', async () => {
  await start()
  const { actionId } = await ask()
  await say(actionId, DENY)
  expect(await reopen(actionId, person('olga', { roles: ['operator'] }))).toEqual({
    kind: 'reopened',
  })
})
