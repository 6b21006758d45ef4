import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { verifyLedger } from '../../../../src/verify.js'
import { approvalOf, decide, machine, person, tool } from '../../../support/approvals.js'
import { OTHER_TOKEN, POLICIES, refund } from '../../../support/rig.js'
import {
  APPROVE,
  ask,
  at,
  DENY,
  expectRow,
  LARGE,
  LATER,
  newest,
  restart,
  run,
  say,
  start,
  types,
  withHitl,
} from '../harness.js'

describe('who may decide', () => {
  it.each([
    ['waiting', null],
    ['approved', 'approve'],
    ['refused', 'deny'],
  ])(
    'tells another agent nothing of an approval that is %s, whatever the arguments',
    async (_, said) => {
      await start()
      const { actionId } = await ask()
      if (said !== null) await say(actionId, said === 'approve' ? APPROVE : DENY)
      const caller = { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }
      /** What the agent is told, without what differs from call to call. */
      const told = async (amount: string, approvalId: string) => {
        const answer = await run(refund(amount, { caller, approvalId }))
        if (answer.kind !== 'refused') throw new Error(answer.kind)
        const { action_id, capsule_id, instance, approval_id, ...problem } = answer.problem
        expect(approval_id).toBe(approvalId)
        return { status: answer.status, code: answer.code, problem }
      }
      const unknown = await told('150.00', '019ca945-0a00-7000-8000-000000000000')
      expect(unknown).toMatchObject({ status: 409, code: 'approval_closed' })
      for (const amount of ['150.00', '151.00', '5.00']) {
        expect(await told(amount, actionId)).toEqual(unknown)
      }
    },
  )

  it('is for the operator that was asked: under another one it is unknown by its id, and asked anew', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    const waiting = await ask(refund('160.00'))
    await say(actionId)
    await restart({ operator: 'globex' })
    const how = tool()
    expect(await run(refund('150.00', { approvalId: actionId }), how)).toMatchObject({
      code: 'approval_closed',
      problem: { approval_state: 'unknown' },
    })
    expect(await say(waiting.actionId)).toMatchObject({ kind: 'refused', why: 'stale' })
    const again = await run(LARGE, how)
    expect(again).toMatchObject({ code: 'approval_pending' })
    expect(again).not.toMatchObject({ approvalId: actionId })
    expect(how.sent).toEqual([])
    expect((await newest()).capsule).toMatchObject({
      operator: 'globex',
      chain: { parent_capsule_id: capsuleId },
    })
    const journal = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
    const keys = at.gate.data.keys()
    const { results, journal: whole } = verifyLedger(journal, { keys, crypto: nodeCrypto })
    expect(results.filter(({ ok }) => !ok)).toEqual([])
    expect(whole).toMatchObject({ status: 'valid', complete: { ok: true } })
  })

  it('demands the assurance the manifest demands', async () => {
    await start(withHitl('{min_assurance: L3}'))
    const { actionId } = await ask()
    expect(await say(actionId, APPROVE, person('al', { assurance: 'L2' }))).toMatchObject({
      why: 'assurance',
    })
    expect(await decide(at.gate, actionId, machine('robot'), APPROVE)).toMatchObject({
      why: 'people_only',
    })
    expect(await say(actionId, APPROVE, person('al', { assurance: 'L3' }))).toMatchObject({
      state: 'approved',
    })
  })

  it("records a machine's word as policy with its authority, both ways, and lets it not postpone", async () => {
    await start()
    const robot = machine('fraud-engine')
    const { actionId } = await ask()
    expect(await decide(at.gate, actionId, robot, LATER)).toMatchObject({ why: 'people_only' })
    expect(await decide(at.gate, actionId, robot, APPROVE)).toMatchObject({ state: 'approved' })
    await run()
    expect((await newest()).capsule.disposition).toMatchObject({
      verdict_class: 'executed',
      approver: 'policy',
      human_disposed: false,
      authority: at.gate.parts.tenant.voter('fraud-engine'),
    })
    const next = await ask(refund('160'))
    await decide(at.gate, next.actionId, robot, DENY)
    await expectRow('approval_refused', next.capsuleId)
    expect((await newest()).capsule.disposition.authority).toBe(
      at.gate.parts.tenant.voter('fraud-engine'),
    )
  })

  it('tells a decider whose screen is old what came first, and records it', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await say(actionId, LATER, person('bob'))
    const { documentDigest } = await approvalOf(at.gate, actionId)
    const stale = { approvalId: actionId, documentDigest, on: capsuleId }
    const told = await at.gate.resolve({ ...stale, decider: person('alice'), outcome: DENY })
    expect(told).toMatchObject({ why: 'already_decided', first: 'deferred' })
    expect((await types()).filter((type) => type === 'DECISION_LOST')).toHaveLength(1)
  })

  it('refuses to approve under rules that are gone, since the grant would be void', async () => {
    await start()
    const { actionId } = await ask()
    const more = '\n@id("x") permit (principal == Agent::"x", action, resource);'
    await restart({ policies: `${POLICIES}${more}` })
    expect(await say(actionId)).toMatchObject({ why: 'stale' })
    expect(await say(actionId, DENY)).toMatchObject({ state: 'refused' })
  })
})
