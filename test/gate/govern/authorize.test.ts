import { afterEach, describe, expect, it } from '@jest/globals'
import type { GateOptions } from '../../../src/app/open-gate.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { PAYMENTS } from '../../support/manifests.js'
import { OTHER_TOKEN, type Rig, refund, rig, TOKEN } from '../../support/rig.js'

/** DESIGN §7: an operator's own words reach a refused agent under `deny_detail: explain` and not otherwise. */
const WORDS = 'refunds over 200 are closed this week'
const POLICIES = `
@id("support-refunds") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("closed-week") @reason("${WORDS}") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("200.0")) };
@id("fifty-one") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount == decimal("51.0") };
@id("large-refund") @hem("required") @reason("large ones are looked at")
forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) && context.args.amount.lessThan(decimal("200.0")) }
unless { context.approval.granted };
`
const never = () => Promise.reject(new Error('a refused call is not sent'))
let at: Rig | null = null
afterEach(async () => {
  await at?.close()
  at = null
})

async function refused(
  denyDetail: GateOptions['denyDetail'],
  amount: string,
  bearer = TOKEN,
): Promise<Extract<Answer, { kind: 'refused' | 'pending' }>> {
  at = await rig({
    manifest: PAYMENTS,
    policies: POLICIES,
    ...(denyDetail === undefined ? {} : { denyDetail }),
  })
  const caller = { bearer, certificate: null, asserted: null, source: '127.0.0.1' }
  const answer = await at.gate.govern(refund(amount, { caller }), never)
  if (answer.kind !== 'refused' && answer.kind !== 'pending') throw new Error(answer.kind)
  return answer
}

describe('deny_detail', () => {
  it('explain, the default: the words of the policies that denied, and nothing else of them', async () => {
    const { code, problem } = await refused(undefined, '300')
    expect(code).toBe('policy_denied')
    expect(problem.deny_message).toBe(WORDS)
    // Ids are random digits, in which a 200 may stand.
    const { deny_message: _, instance, action_id, capsule_id, ...rest } = problem
    expect([instance, action_id, capsule_id]).not.toContain(undefined)
    expect(JSON.stringify(rest)).not.toMatch(/closed|200/)
    expect(JSON.stringify(problem)).not.toContain('closed-week')
  })

  it('code: the same document without them', async () => {
    const { problem: told } = await refused('explain', '300')
    await at?.close()
    const { problem } = await refused('code', '300')
    expect(Object.keys(told).filter((name) => !(name in problem))).toEqual(['deny_message'])
    expect(JSON.stringify(problem)).not.toContain(WORDS)
  })

  it.each([
    ['a policy without words', '51.0', TOKEN, 'policy_denied'],
    ['no policy that permits', '5', OTHER_TOKEN, 'policy_denied'],
    ['a question to a person', '150', TOKEN, 'approval_pending'],
    ['a constraint', '600', TOKEN, 'constraint_failed'],
  ])('adds nothing for %s', async (_, amount, bearer, code) => {
    const { problem } = await refused('explain', amount, bearer)
    expect(problem.code).toBe(code)
    expect(problem).not.toHaveProperty('deny_message')
  })
})
