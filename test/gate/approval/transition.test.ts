import { describe, expect, it } from '@jest/globals'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { person } from '../../support/approvals.js'
import { openItems } from '../../support/open-items.js'
import { refund } from '../../support/rig.js'
import {
  APPROVE,
  ask,
  at,
  DENY,
  expectRow,
  LATER,
  newest,
  pass,
  run,
  say,
  start,
  verdicts,
  withHitl,
} from './harness.js'

describe('rows of deciders and deadlines', () => {
  it('approval_refused: a refusal with its reason closes the item, on a human word', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    expect(await say(actionId, { kind: 'deny', reason: '  ' })).toMatchObject({
      why: 'reason_required',
    })
    const told = await say(actionId, DENY)
    expect(told).toMatchObject({ kind: 'recorded', state: 'refused' })
    await expectRow('approval_refused', capsuleId, true)
    expect(await say(actionId, DENY)).toMatchObject({ ...told, repeated: true })
    expect(JSON.stringify(await at.lines())).not.toContain('not this customer')
  })

  it('approval_withdrawn: the agent takes its own request back; nobody else can', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    expect(await at.gate.withdraw(actionId, 'other-bot')).toEqual({
      kind: 'refused',
      why: 'unknown',
    })
    expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ kind: 'withdrawn' })
    await expectRow('approval_withdrawn', capsuleId)
    expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ why: 'over' })
    expect(await say(actionId)).toMatchObject({ why: 'already_decided', first: 'resolved' })
  })

  it('approval_deferred, approval_expired: a deferral has its own time, from its own capsule', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await pass(3000)
    const told = await say(actionId, LATER)
    expect(told).toMatchObject({ state: 'deferred' })
    await expectRow('approval_deferred', capsuleId, true)
    const { capsule } = await newest()
    expect(capsule.disposition.expiry_policy).toEqual({ ttl_seconds: 600, on_expiry: 'expired' })
    expect(await say(actionId, LATER)).toMatchObject({ repeated: true, state: 'deferred' })
    await pass(599)
    expect((await newest()).capsule.capsule_id).toBe(capsule.capsule_id)
    await pass(1)
    await expectRow('approval_expired', capsule.capsule_id)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'deferred', 'expired'])
  })

  it('a deferred item can still be approved, by whoever postponed it too, and runs', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId, LATER)
    const deferral = (await newest()).capsule.capsule_id
    expect(await run()).toMatchObject({ code: 'approval_pending', actionId })
    expect(await say(actionId)).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
    expect((await newest()).capsule.chain).toMatchObject({ parent_capsule_id: deferral })
  })

  it('approval_escalated, approval_timed_out: the ladder is climbed rung by rung, then it ends', async () => {
    await start(
      withHitl(
        '{ttl_seconds: 100, ladder: [{roles: [lead], after_seconds: 10}, {roles: [boss], after_seconds: 20}]}',
      ),
    )
    const { actionId, capsuleId } = await ask()
    await pass(10)
    await expectRow('approval_escalated', capsuleId)
    const first = (await newest()).capsule
    expect(first['dev.capsulegate.deadline']).toEqual({ ttl_seconds: 20, on_expiry: 'escalated' })
    expect(await say(actionId)).toMatchObject({ why: 'role' })
    await pass(20)
    const second = (await newest()).capsule
    expect(second['dev.capsulegate.deadline']).toEqual({ ttl_seconds: 100, on_expiry: 'timeout' })
    expect(await say(actionId, APPROVE, person('lea', { roles: ['lead'] }))).toMatchObject({
      why: 'role',
    })
    await pass(100)
    await expectRow('approval_timed_out', second.capsule_id)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'escalated', 'escalated', 'timeout'])
  })

  it('a deferral may pass on to the next rung when its time is over, if there is one', async () => {
    await start(withHitl('{ladder: [{roles: [lead], after_seconds: 900}]}'))
    const { actionId } = await ask()
    const later: Outcome = { kind: 'defer', ttlSeconds: 60, onExpiry: 'escalated' }
    await say(actionId, later)
    await pass(60)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'deferred', 'escalated'])
    const lead = person('lea', { roles: ['lead'] })
    expect(await say(actionId, later, lead)).toMatchObject({ why: 'ladder' })
    expect(await say(actionId, APPROVE, lead)).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
  })

  it('approval_mismatch: names the first difference and closes nothing', async () => {
    await start()
    const { actionId } = await ask()
    const other = await run(refund('150.00', { approvalId: actionId }, 'o-2'))
    expect(other).toMatchObject({ code: 'approval_mismatch', status: 409 })
    expect(other.kind === 'refused' && other.problem.differs_at).toBe('/arguments/order/value')
    await expectRow('approval_mismatch', null)
    expect(await openItems(at.gate.data.state)).toHaveLength(1)
  })
})
