import { describe, expect, it } from '@jest/globals'
import { type answered, tool, unreachable } from '../../support/approvals.js'
import { refund } from '../../support/rig.js'
import {
  ask,
  at,
  LARGE,
  newest,
  openAgain,
  pass,
  run,
  say,
  start,
  time,
  verdicts,
  withHitl,
} from './harness.js'

describe('time', () => {
  it('expires by the timer, from the records after a restart, and never because the clock jumped', async () => {
    await start()
    await ask()
    time.jump(7200)
    await at.gate.expireDue()
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    time.jump(-7200)
    const over = new Promise<void>((resolve) => {
      at.gate.data.subscribe(({ type }) => type === 'CAPSULE' && resolve())
    })
    time.advance(3600)
    await over
    expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
    const next = await ask(refund('160'))
    await at.gate.close()
    time.advance(3600)
    await openAgain()
    expect((await newest()).capsule.chain).toMatchObject({ parent_capsule_id: next.capsuleId })
  })

  it('does not state an end before its own deadline when the wall clock went back', async () => {
    await start()
    await ask()
    time.jump(-1800)
    await pass(3600)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    await pass(1800)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
  })

  it('leaves alone what is just being sent, and ends it when it came back unsent', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId)
    let end: (value: ReturnType<typeof answered>) => void = () => undefined
    let running: Promise<unknown> = Promise.resolve()
    const sending = new Promise<void>((begun) => {
      running = run(
        LARGE,
        tool(() => {
          begun()
          return new Promise((resolve) => {
            end = resolve
          })
        }),
      )
    })
    await sending
    await pass(3600)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    end(unreachable())
    // Its capsule is durable a moment before what it holds is given back.
    await running
    await pass(1)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'engine_failure', 'timeout'])
  })

  it('reminds, once for each time that passed, and not after the decision', async () => {
    await start(withHitl('{reminders_seconds: [60, 120, 180]}'))
    const { actionId } = await ask()
    const reminders = async (): Promise<unknown[]> =>
      (await at.lines()).filter(({ type }) => type === 'APPROVAL_REMINDER').map(({ nth }) => nth)
    await pass(60)
    await pass(10)
    expect(await reminders()).toEqual([1])
    await pass(110)
    expect(await reminders()).toEqual([1, 3])
    await say(actionId)
    await pass(60)
    expect(await reminders()).toEqual([1, 3])
  })
})
