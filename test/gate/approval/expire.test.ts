import { describe, expect, it } from '@jest/globals'
import { dueAt, expire } from '../../../src/gate/approval/expire.js'
import { approvalOf } from '../../support/approvals.js'
import { APPROVE, ask, at, say, start, time, types, verdicts, withHitl } from './harness.js'

const TIMES = withHitl('{ttl_seconds: 100, reminders_seconds: [10, 20]}')

describe('dueAt', () => {
  it('is the next reminder while an item is undecided, then its deadline', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    const pending = await approvalOf(at.gate, actionId)
    const seconds = (approval: typeof pending) =>
      (dueAt(approval) - Date.parse(approval.openedAt)) / 1000
    expect(seconds(pending)).toBe(10)
    expect(seconds({ ...pending, reminded: 1 })).toBe(20)
    expect(seconds({ ...pending, reminded: 2 })).toBe(100)
    await say(actionId, APPROVE)
    expect(seconds(await approvalOf(at.gate, actionId))).toBe(100)
  })
})

describe('expire', () => {
  it('leaves an item to the action that holds it, and reports that', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    const seen = await approvalOf(at.gate, actionId)
    await at.gate.parts.state.claim(seen.parent, 'another')
    time.advance(200)
    expect(await expire(seen, at.gate.parts)).toBe(false)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    await at.gate.parts.state.unclaim('another')
  })

  it('gives its own claim up again, also when the record cannot be written', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    const seen = await approvalOf(at.gate, actionId)
    const { parts } = at.gate
    time.jump(200)
    const append = () => Promise.reject(new Error('no space'))
    const broken = { ...parts, journal: { ...parts.journal, append } }
    await expect(expire(seen, broken)).rejects.toThrow('no space')
    expect(await parts.state.claim(seen.parent, 'another')).toMatchObject({ kind: 'claimed' })
    await parts.state.unclaim('another')
  })

  it('ends nothing that is halted', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    const seen = await approvalOf(at.gate, actionId)
    time.jump(200)
    const halted = { ...at.gate.parts, halts: () => [{ kind: 'all' } as const] }
    expect(await expire(seen, halted)).toBe(true)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
  })

  it('reminds once for all that passed, and does nothing before the first', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    const seen = await approvalOf(at.gate, actionId)
    expect(await expire(seen, at.gate.parts)).toBe(true)
    expect(await types()).not.toContain('APPROVAL_REMINDER')
    time.jump(25)
    await expire(seen, at.gate.parts)
    const reminders = (await at.lines()).filter(({ type }) => type === 'APPROVAL_REMINDER')
    expect(reminders).toMatchObject([{ nth: 2 }])
  })

  it('is a timeout for a grant that was not used', async () => {
    await start(TIMES)
    const { actionId } = await ask()
    await say(actionId, APPROVE)
    const seen = await approvalOf(at.gate, actionId)
    time.jump(200)
    await expire(seen, at.gate.parts)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
  })
})
