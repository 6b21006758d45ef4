import { expect, it } from '@jest/globals'
import { thaw } from '../../../src/gate/evidence/frozen.js'
import { approvalOf } from '../../support/approvals.js'
import { TOKEN } from '../../support/rig.js'
import { ask, at, LARGE, start } from '../approval/harness.js'

it('a call that was put before a human can be sent as it was, without its credentials', async () => {
  await start()
  const { actionId } = await ask()
  const thawed = await thaw(await approvalOf(at.gate, actionId), at.gate.parts)
  expect(thawed).toMatchObject({
    call: {
      method: 'POST',
      target: '/v1/refunds',
      approvalId: actionId,
      caller: { bearer: null, source: 'approval' },
    },
    agent: { agent: 'support-bot', developer: 'support-bot@1' },
  })
  const { body } = Object(thawed?.call)
  expect(Buffer.from(body.bytes)).toEqual(Buffer.from(Object(LARGE.body).bytes))
  expect(JSON.stringify(thawed)).not.toContain(TOKEN)
})

it('not for another agent, and not without its evidence', async () => {
  await start()
  const { actionId } = await ask()
  const approval = await approvalOf(at.gate, actionId)
  const { parts } = at.gate
  expect(await thaw({ ...approval, agent: 'other-bot' }, parts)).toBeNull()
  expect(await thaw({ ...approval, approvalId: 'unknown' }, parts)).toBeNull()
  const evidence = {
    ...parts.evidence,
    async byAction(id: string) {
      const found = await parts.evidence.byAction(id)
      return found.state === 'present'
        ? { ...found, value: found.value.filter(({ name }) => name !== 'body') }
        : found
    },
  }
  expect(await thaw(approval, { evidence })).toBeNull()
})
