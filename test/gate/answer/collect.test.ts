import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Agent } from '../../../src/core/call/agent.js'
import type { Collectable } from '../../../src/gate/answer/collect.js'
import { collect } from '../../../src/gate/answer/collect.js'
import type { Parts } from '../../../src/gate/context.js'
import type { PolicyDecision, PolicyRequest } from '../../../src/ports/policy.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

const CALL = refund('5', { idempotencyKey: 'k' })
let at: Rig
let agent: Agent
let action: Collectable
beforeEach(async () => {
  at = await rig({ manifest: PAYMENTS })
  const found = await at.gate.identify(CALL.caller)
  if (found.kind !== 'known') throw new Error(found.why)
  agent = found
  action = Object(await at.gate.govern(CALL, tool().dispatch))
})
afterEach(() => at.close())
const verdicts = async () => (await at.capsules()).map(({ capsule }) => capsule.disposition)
const deciding = (decide: (request: PolicyRequest) => PolicyDecision): Parts => {
  const { parts } = at.gate
  const world = parts.world()
  return { ...parts, world: () => ({ ...world, policy: { ...world.policy, decide } }) }
}
const judged = { policies: ['p'], observed: [], request: {} }

it('gives the kept response again, with the ids of its action and no capsule', async () => {
  const asked: PolicyRequest[] = []
  const { decide } = at.gate.parts.world().policy
  const parts = deciding((request) => {
    asked.push(request)
    return decide(request)
  })
  const identity = { ...parts.identity, isStillKnown: () => true }
  const now = { ...agent, roles: ['new'] }
  const answer = await collect(CALL, now, action, { ...parts, identity })
  expect(answer).toMatchObject({ kind: 'replayed', actionId: action.actionId })
  expect(Object(answer).response).toMatchObject({ status: 200 })
  expect(await verdicts()).toHaveLength(1)
  // What was asked then, with the agent as it is now.
  expect(asked).toMatchObject([
    {
      principal: 'support-bot',
      roles: ['new'],
      action: 'create_refund',
      approval: { granted: false },
    },
  ])
  expect(JSON.stringify(asked[0]?.args)).toContain('5')
})

it('has nothing to give where no response was kept', async () => {
  const other = Object(await at.gate.govern(refund('6'), tool().dispatch))
  expect(await collect(CALL, agent, other, at.gate.parts)).toBeNull()
})

it('passes what policy would ask a human about', async () => {
  const parts = deciding(() => ({ kind: 'ask', reason: null, ...judged }))
  expect(await collect(CALL, agent, action, parts)).toMatchObject({ kind: 'replayed' })
})

it.each<[string, () => Promise<Parts>, object]>([
  [
    'policy_denied',
    async () => deciding(() => ({ kind: 'deny', reason: 'closed', ...judged })),
    { problem: { deny_message: 'closed' } },
  ],
  [
    'policy_error',
    async () => deciding(() => ({ kind: 'error', errorClass: 'x', detail: 'y', request: {} })),
    {},
  ],
  [
    'halted',
    async () => ({ ...at.gate.parts, halts: () => [{ kind: 'tool', name: 'create_refund' }] }),
    {},
  ],
  [
    'unauthenticated',
    async () => {
      const { parts } = at.gate
      return { ...parts, identity: { ...parts.identity, isStillKnown: () => false } }
    },
    {},
  ],
])('%s: is refused with a capsule, and nothing of the response', async (code, how, more) => {
  const answer = await collect(CALL, agent, action, await how())
  expect(answer).toMatchObject({ kind: 'refused', code, ...more })
  expect(answer).not.toHaveProperty('response')
  expect(await verdicts()).toHaveLength(2)
})

it('passes a denial in observe mode', async () => {
  const parts = deciding(() => ({ kind: 'deny', reason: null, ...judged }))
  const world = { ...parts.world(), mode: 'observe' } as const
  const answer = await collect(CALL, agent, action, { ...parts, world: () => world })
  expect(answer).toMatchObject({ kind: 'replayed' })
})

it('is refused where the evidence of what policy was asked is gone', async () => {
  const { parts } = at.gate
  const evidence = {
    ...parts.evidence,
    async byAction(id: string) {
      const found = await parts.evidence.byAction(id)
      return found.state === 'present'
        ? { ...found, value: found.value.filter(({ kind }) => kind !== 'cedar') }
        : found
    },
  }
  const answer = await collect(CALL, agent, action, { ...parts, evidence })
  expect(answer).toMatchObject({ kind: 'refused', code: 'policy_denied' })
})

it('is refused where that evidence is of another agent', async () => {
  const parts = deciding(() => ({ kind: 'permit', ...judged }))
  const identity = { ...parts.identity, isStillKnown: () => true }
  const other = { ...agent, agent: 'other-bot' }
  expect(await collect(CALL, other, action, { ...parts, identity })).toMatchObject({
    kind: 'refused',
    code: 'policy_denied',
  })
})
