import { describe, expect, it } from '@jest/globals'
import { tool } from '../../support/approvals.js'
import { refund } from '../../support/rig.js'
import { ask, at, LARGE, newest, run, say, start, time, types } from './harness.js'

describe('standing grants', () => {
  const order = (over: object = {}) => ({
    agent: 'support-bot',
    tool: 'create_refund',
    bounds: { low: { amount: { lte: '200.00' } } },
    expiresAt: new Date(time.clock.now() + 60_000).toISOString(),
    uses: 3,
    by: 'olga',
    ...over,
  })

  it('is refused without bounds, end, uses, a tool, or by the agent itself', async () => {
    await start()
    for (const wrong of [
      { bounds: {} },
      { bounds: { x: { nothing: { lte: '1' } } } },
      { expiresAt: new Date(time.clock.now()).toISOString() },
      { expiresAt: '9999-01-01T00:00:00Z' },
      { expiresAt: 'soon' },
      { uses: 0 },
      { uses: 1.5 },
      { tool: 'unheard_of' },
      { by: 'support-bot' },
      { by: '' },
    ]) {
      expect(await at.gate.issueStanding(order(wrong))).toMatchObject({ kind: 'refused' })
    }
    expect(await types()).not.toContain('GRANT_ISSUED')
  })

  it('ends with its time and with its revocation, and is the agent’s alone', async () => {
    await start()
    const issued = await at.gate.issueStanding(order())
    expect(await run()).toMatchObject({ code: 'executed' })
    if (issued.kind === 'issued') await at.gate.revokeStanding(issued.grant, 'olga')
    expect(await run(refund('150', {}, 'o-2'))).toMatchObject({ code: 'approval_pending' })
    await at.gate.issueStanding(order())
    time.advance(60)
    expect(await run(refund('150', {}, 'o-3'))).toMatchObject({ code: 'approval_pending' })
    await at.gate.issueStanding(order({ agent: 'other-bot' }))
    expect(await run(refund('150', {}, 'o-4'))).toMatchObject({ code: 'approval_pending' })
    expect(JSON.stringify(await at.lines())).not.toContain('olga')
  })

  it('stops a call that is not yet sent when it is revoked', async () => {
    let revoke: (() => Promise<void>) | null = null
    await start({
      seam: async (name) => {
        if (name === 'before_first_byte') await revoke?.()
      },
    })
    const issued = await at.gate.issueStanding(order())
    if (issued.kind !== 'issued') throw new Error('not issued')
    revoke = () => at.gate.revokeStanding(issued.grant, 'olga')
    const how = tool()
    expect(await run(LARGE, how)).toMatchObject({ code: 'judgement_stale' })
    expect(how.sent).toEqual([])
  })

  it('closes what was asked before it was given', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await at.gate.issueStanding(order())
    expect(await run()).toMatchObject({ code: 'executed' })
    expect((await newest()).capsule).toMatchObject({
      chain: { parent_capsule_id: capsuleId },
      'dev.capsulegate.decision_id': actionId,
      disposition: { approver: 'policy', human_disposed: false },
    })
    expect(await say(actionId)).toMatchObject({ first: 'executed' })
  })

  it('is not spent by fifty calls more often than it may be', async () => {
    await start()
    await at.gate.issueStanding(order())
    const how = tool()
    await Promise.all(Array.from({ length: 50 }, (_, i) => run(refund('150', {}, `o-${i}`), how)))
    expect(how.sent).toHaveLength(3)
  })
})
