import { describe, expect, it } from '@jest/globals'
import { answered, tool } from '../../support/approvals.js'
import { refund } from '../../support/rig.js'
import { APPROVE, ask, at, DENY, LARGE, run, say, start, withHitl } from '../approval/harness.js'

const own = (id: string, agent = 'support-bot') => at.gate.read.ownAction(id, agent)

describe('a call that was not put before a human', () => {
  it('is in flight while it is being sent, and then concluded', async () => {
    await start()
    const seen: unknown[] = []
    const answer = Object(
      await at.gate.govern(refund('5', { idempotencyKey: 'k' }), async ({ actionId }) => {
        seen.push(await own(actionId))
        return answered()
      }),
    )
    const { actionId, capsuleId } = answer
    expect(seen).toEqual([
      {
        actionId,
        state: 'in_flight',
        verdict: null,
        capsuleId: null,
        resultAvailable: false,
        concluded: null,
        asked: null,
      },
    ])
    expect(await own(actionId)).toMatchObject({
      state: 'concluded',
      verdict: 'executed',
      capsuleId,
      resultAvailable: true,
      concluded: { actionId, capsuleId },
    })
  })

  it('keeps its own verdict beside an outcome, and has no result where none was kept', async () => {
    await start()
    const { actionId, capsuleId } = Object(await run(refund('5')))
    await at.gate.recordOutcome({ actionId, status: 'failed', ref: 'r', by: 'olga' })
    expect(await own(actionId)).toMatchObject({ capsuleId, resultAvailable: false })
  })

  it('is nothing to another agent, refused or sent; nor is a capsule id anything', async () => {
    await start()
    const [sent, refused] = [Object(await run(refund('5'))), Object(await run(refund('600')))]
    expect(await own(refused.actionId)).toMatchObject({ verdict: 'blocked' })
    expect(await own(sent.actionId, 'other-bot')).toBeNull()
    expect(await own(refused.actionId, 'other-bot')).toBeNull()
    expect(await own(refused.capsuleId)).toBeNull()
    expect(await own('unknown')).toBeNull()
  })
})

describe('a call that was put before a human', () => {
  it('waits, is approved, and is concluded by the call that ran', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    expect(await own(actionId, 'other-bot')).toBeNull()
    expect(await own(actionId)).toMatchObject({
      state: 'waiting',
      verdict: 'hitl_dispatched',
      capsuleId,
      concluded: null,
      asked: { approvalId: actionId },
    })
    await say(actionId, APPROVE)
    expect(await own(actionId)).toMatchObject({ state: 'approved' })
    const ran = Object(await run({ ...LARGE, idempotencyKey: 'k' }, tool()))
    expect(await own(actionId)).toMatchObject({
      actionId,
      state: 'concluded',
      verdict: 'executed',
      capsuleId: ran.capsuleId,
      resultAvailable: true,
      concluded: { actionId: ran.actionId },
    })
  })

  it('has no result where a person refused it', async () => {
    await start(withHitl('{quorum: 1}'))
    const { actionId } = await ask()
    await say(actionId, DENY)
    expect(await own(actionId)).toMatchObject({
      state: 'concluded',
      verdict: 'resolved',
      resultAvailable: false,
    })
  })
})
