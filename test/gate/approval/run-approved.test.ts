import { describe, expect, it } from '@jest/globals'
import { approvalOf, tool } from '../../support/approvals.js'
import { refund } from '../../support/rig.js'
import { ask, at, newest, restart, say, start, withHitl } from './harness.js'

describe('on_approval: dispatch', () => {
  it('sends what was frozen when it is approved, keeps the answer, and does so after a restart too', async () => {
    await start(withHitl('{on_approval: dispatch}'))
    const how = tool()
    const bodies: string[] = []
    const register = () =>
      at.gate.dispatchApproved((call) => {
        if (call.kind === 'http' && call.body.kind === 'read') {
          bodies.push(Buffer.from(call.body.bytes).toString())
        }
        return how.dispatch
      })
    await register()
    const { actionId } = await ask()
    await say(actionId)
    await at.gate.stop()
    expect(how.sent).toHaveLength(1)
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ amount: '150.00' })
    expect((await newest()).capsule.disposition).toMatchObject({ human_disposed: true })
    const { state } = await approvalOf(at.gate, actionId)
    const kept = await at.gate.data.evidence.byAction(state.kind === 'closed' ? state.actionId : '')
    expect(kept.state === 'present' && kept.value.map(({ kind }) => kind)).toContain('response')

    const next = await ask(refund('170'))
    await restart()
    await say(next.actionId)
    await restart()
    await register()
    await at.gate.stop()
    expect(how.sent).toHaveLength(2)
    expect(JSON.stringify(await at.lines())).not.toContain('bot-token')
  })
})
