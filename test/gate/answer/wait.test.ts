import { describe, expect, it } from '@jest/globals'
import { tool } from '../../support/approvals.js'
import { at, DENY, LARGE, newest, run, say, start, time, verdicts } from '../approval/harness.js'

describe('waiting', () => {
  const waiting = (call = LARGE) => ({ ...call, waitSeconds: 20 })
  /**
   * A named point instead of a sleep: the 202's own line, then the waiter's timer, beside those of the deadline
   * and of the newest head.
   */
  async function opened(): Promise<string> {
    for (;;) {
      const [open] = await at.gate.parts.state.approvals()
      if (open !== undefined && time.waiting() >= 3) return open.approvalId
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('goes on as the retry when it is approved in time', async () => {
    await start()
    const how = tool()
    const answer = run(waiting(), how)
    await say(await opened())
    expect(await answer).toMatchObject({ kind: 'executed', code: 'executed' })
    expect(how.sent).toHaveLength(1)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'executed'])
  })

  it('names the refusal when it is refused in time, without a capsule of its own', async () => {
    await start()
    const answer = run(waiting())
    await say(await opened(), DENY)
    const { capsule } = await newest()
    expect(await answer).toMatchObject({ code: 'approval_refused', capsuleId: capsule.capsule_id })
    expect(await verdicts()).toEqual(['hitl_dispatched', 'resolved'])
  })

  it('gives the 202 after all when nobody decides, and no sooner', async () => {
    await start()
    const answer = run(waiting())
    const id = await opened()
    time.advance(20)
    expect(await answer).toMatchObject({ code: 'approval_pending', actionId: id })
  })

  it('lets one of many waiting callers run', async () => {
    await start()
    const how = tool()
    const answers = Array.from({ length: 10 }, () => run(waiting(), how))
    const id = await opened()
    while (time.waiting() < 12) await new Promise((resolve) => setImmediate(resolve))
    await say(id)
    const codes = (await Promise.all(answers)).map((answer) => 'code' in answer && answer.code)
    expect(codes.filter((code) => code === 'executed')).toHaveLength(1)
    expect(how.sent).toHaveLength(1)
  })
})
