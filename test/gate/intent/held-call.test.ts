import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { decide, person, tool } from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import { orderCall, stepsOn, WITH_INTENT } from '../../support/intent-scenarios.js'
import { carried } from '../../support/intents.js'
import { type Rig, rig } from '../../support/rig.js'
import { MANIFEST, POLICIES } from '../../support/verdict-scenarios.js'

/** A call whose agent demands a person holds its session (seed intent-declaration-primitive-01 §4.4). */
const ORDER = 'o-1'
let at: Rig
let steps: ReturnType<typeof stepsOn>
let how: ReturnType<typeof tool>
beforeEach(async () => {
  at = await rig({ manifest: MANIFEST, policies: POLICIES, ...WITH_INTENT })
  steps = stepsOn(ORDER)
  how = tool()
})
afterEach(async () => {
  await expectConformance(at)
  await at.close()
})
const step = (hem_urgency: 'NONE' | 'REQUIRED', action: 'look_up' | 'settle' = 'look_up') => {
  const declared = carried(steps.standard(action, { hem_urgency }), steps.mandate)
  return at.gate.govern(orderCall(action, ORDER, declared), how.dispatch)
}
const mayGo = (): boolean =>
  at.gate.parts.state.stillStands({
    sessionId: steps.sessionId,
    mandateId: steps.jti,
    missionRef: null,
  })
const demanded = async (): Promise<string> => {
  const answer: Answer = await step('REQUIRED')
  if (answer.kind !== 'pending') throw new Error(answer.kind)
  expect(answer.problem).toMatchObject({ result: 'SESSION_HEM_PENDING', idp_received: null })
  return answer.approvalId
}

describe('while a person is asked about a call', () => {
  it('neither another step goes, nor the same call without the demand', async () => {
    const approval_id = await demanded()
    expect(mayGo()).toBe(false)
    const pending = { code: 'session_pending', problem: { deny_code: 'HEM_PENDING', approval_id } }
    expect(await step('NONE', 'settle')).toMatchObject(pending)
    expect(await step('NONE')).toMatchObject(pending)
    expect(await step('REQUIRED', 'settle')).toMatchObject(pending)
    expect(await step('REQUIRED')).toMatchObject({ kind: 'joined', approvalId: approval_id })
    expect(how.sent).toEqual([])
  })

  it('also after a restart', async () => {
    await demanded()
    at = await at.restart()
    expect(mayGo()).toBe(false)
    expect(await step('NONE')).toMatchObject({ code: 'session_pending' })
  })

  it('it goes once it is granted, and the session with it', async () => {
    const id = await demanded()
    await decide(at.gate, id, person('alice'), { kind: 'approve' })
    expect(mayGo()).toBe(true)
    expect(await step('NONE')).toMatchObject({ code: 'executed' })
    const [last] = (await at.capsules()).slice(-1)
    expect(last?.capsule.disposition).toMatchObject({ approver: 'human', human_disposed: true })
    expect(await step('NONE', 'settle')).toMatchObject({ code: 'executed' })
  })

  it('a refusal frees the session, and the call stays refused', async () => {
    const id = await demanded()
    await decide(at.gate, id, person('alice'), { kind: 'deny', reason: 'not now' })
    expect(mayGo()).toBe(true)
    expect(await step('REQUIRED')).toMatchObject({ code: 'approval_refused' })
    expect(await step('NONE')).toMatchObject({ code: 'approval_refused' })
    expect(how.sent).toEqual([])
    expect(await step('NONE', 'settle')).toMatchObject({ code: 'executed' })
  })
})
