import { describe, expect, it } from '@jest/globals'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { openItems } from '../../support/open-items.js'
import { POLICIES } from '../../support/rig.js'
import { ask, at, LARGE, newest, restart, run, say, start, time, types } from './harness.js'

describe('a grant given under rules that have changed since', () => {
  it.each([
    [
      'policies',
      { policies: `${POLICIES}\n@id("x") permit (principal == Agent::"x", action, resource);` },
    ],
    ['the manifest', { manifest: `${PAYMENTS}    deadlines: {total_ms: 2000}\n` }],
  ])('%s: is void, and the call is asked about again', async (_, changed) => {
    await start()
    const { actionId } = await ask()
    expect(await say(actionId)).toMatchObject({ state: 'approved' })
    await restart(changed)
    const how = tool()
    const again = await run(LARGE, how)
    expect(again).toMatchObject({ kind: 'pending', code: 'approval_pending' })
    expect(again).not.toMatchObject({ approvalId: actionId })
    expect(how.sent).toEqual([])
  })
})

describe('approval within bounds', () => {
  it('checks the bounds on what was shown, and again before it is sent', async () => {
    await start()
    const { actionId } = await ask()
    const within = (bounds: object): Outcome => ({ kind: 'approve', bounds: bounds as never })
    expect(await say(actionId, within({ low: { amount: { lte: '149' } } }))).toMatchObject({
      why: 'bounds',
      detail: 'the request does not keep low',
    })
    for (const wrong of [
      { low: { amuont: { lte: '1' } } },
      { low: { amount: { lte: 1.5 } } },
      { often: { count: { max: 1, window: '1h' } } },
    ]) {
      expect(await say(actionId, within(wrong))).toMatchObject({ why: 'bounds' })
    }
    expect(await types()).not.toContain('APPROVAL_VOTED')
    const noon = { time: { from: '11:00', until: '12:30' } }
    expect(await say(actionId, within({ noon, low: { amount: { lte: '150' } } }))).toMatchObject({
      state: 'approved',
    })
    time.advance(40 * 60)
    const how = tool()
    expect(await run(LARGE, how)).toMatchObject({ code: 'policy_denied' })
    expect(how.sent).toEqual([])
    expect(await openItems(at.gate.data.state)).toEqual([])
  })
})

it('runs by policy what policy no longer asks about, and closes what was asked', async () => {
  await start()
  const { actionId, capsuleId } = await ask()
  await restart({
    policies: '@id("all") permit (principal == Agent::"support-bot", action, resource);',
  })
  expect(await run()).toMatchObject({ code: 'executed' })
  expect((await newest()).capsule).toMatchObject({
    chain: { parent_capsule_id: capsuleId },
    'dev.capsulegate.decision_id': actionId,
    disposition: { approver: 'policy' },
  })
})
