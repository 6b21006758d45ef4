import { afterEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../src/gate/answer.js'
import {
  answered,
  approvalOf,
  decide,
  type FakeTime,
  fakeTime,
  machine,
  person,
  tool,
  unreachable,
} from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import {
  type CapsuleLine,
  OTHER_TOKEN,
  type Rig,
  type RigOptions,
  refund,
  rig,
} from '../support/rig.js'

let time: FakeTime
let at: Rig
async function start(more: Partial<RigOptions> = {}): Promise<Rig> {
  time = fakeTime()
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer, ...more })
  return at
}
const restart = async (more: Partial<RigOptions> = {}): Promise<void> => {
  at = await at.restart(more)
}
afterEach(() => at.close())

const LARGE = refund('150.00')
type Refused = Extract<Answer, { kind: 'refused' }>
async function ask(call = LARGE): Promise<Refused> {
  const answer = await at.gate.govern(call, tool().dispatch)
  if (answer.kind !== 'refused' || answer.code !== 'approval_pending') {
    throw new Error(`not pending: ${JSON.stringify(answer)}`)
  }
  return answer
}
const verdicts = async (): Promise<string[]> =>
  (await at.capsules()).map(({ capsule }) => String(capsule.disposition.verdict_class))
const last = async (): Promise<CapsuleLine['capsule']> =>
  ((await at.capsules()).at(-1) as CapsuleLine).capsule
const APPROVE = { kind: 'approve' } as const
const DENY = { kind: 'deny', reason: 'not this customer' } as const

describe('asking, deciding, running', () => {
  it('opens an item with 202, and the retry after approval runs once, on a human word', async () => {
    await start()
    const pending = await ask()
    expect(pending).toMatchObject({ status: 202, verdict: 'hitl_dispatched' })
    expect(pending.problem).toMatchObject({ approval_id: pending.actionId, dispatched: false })
    const opened = await last()
    expect(opened.disposition).toMatchObject({ decision: 'needs_input', approver: 'policy' })
    expect(opened['dev.capsulegate.deadline']).toEqual({ ttl_seconds: 3600, on_expiry: 'timeout' })

    expect(await decide(at.gate, pending.actionId, person('alice'), APPROVE)).toMatchObject({
      kind: 'recorded',
      state: 'approved',
      capsuleId: null,
    })
    expect(at.gate.data.state.openItems()).toHaveLength(1)
    const { sent, dispatch } = tool()
    const answer = await at.gate.govern(LARGE, dispatch)
    expect(answer).toMatchObject({ kind: 'answered', code: 'executed' })
    expect(sent).toHaveLength(1)
    const ran = await last()
    expect(ran).toMatchObject({
      'dev.capsulegate.decision_id': pending.actionId,
      chain: { parent_capsule_id: pending.capsuleId, relation: 'supersedes' },
    })
    expect(ran.disposition).toMatchObject({ approver: 'human', human_disposed: true })
    expect(at.gate.data.state.openItems()).toHaveLength(0)

    const replayed = await at.gate.govern({ ...LARGE, approvalId: pending.actionId }, dispatch)
    expect(replayed).toMatchObject({ code: 'approval_closed', status: 409 })
    expect(sent).toHaveLength(1)
  })
})
