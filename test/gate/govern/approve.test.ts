import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Authorized, Parts } from '../../../src/gate/context.js'
import { saltedPart } from '../../../src/gate/evidence/parts.js'
import { approve } from '../../../src/gate/govern/approve.js'
import { authorize } from '../../../src/gate/govern/authorize.js'
import type { Approval } from '../../../src/ports/state.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { constrained } from './stages.js'

let at: Rig
let parts: Parts
let small: Authorized
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  parts = at.gate.parts
  small = await authorized('5')
})
afterAll(() => at.close())
async function authorized(amount: string): Promise<Authorized> {
  const value = await authorize(await constrained(refund(amount), parts), parts)
  if ('exit' in value) throw new Error(value.exit)
  return value
}
const PARENT = 'f'.repeat(64)
const approval = { approvalId: 'a-1', parent: PARENT } as Approval
const run = () => ({
  by: { kind: 'grant', authority: 'g-1' } as const,
  part: saltedPart('approval', 'decision', {}, parts),
})

it('runs by policy what needs no human, as a decision of its own', async () => {
  expect(await approve(small, parts)).toMatchObject({
    grant: null,
    by: { kind: 'policy' },
    decisionId: small.actionId,
    supersedes: null,
  })
})

it('closes an item that is open for it, also where no decision is needed any more', async () => {
  const item = { kind: 'open', approval, stale: false } as const
  expect(await approve({ ...small, item }, parts)).toMatchObject({
    grant: null,
    decisionId: 'a-1',
    supersedes: PARENT,
  })
})

it('runs under the grant of its item, with a record that is bound to the votes', async () => {
  const granted = { kind: 'granted', approval, run: run() } as const
  const value = await approve({ ...small, item: granted }, parts)
  expect(value).toMatchObject({ grant: 'a-1', by: granted.run.by, supersedes: PARENT })
  expect(Object(value).records.at(-1)).toMatchObject({
    id: 'dev.capsulegate.approval',
    result: 'pass',
    evidence_digest: granted.run.part.digest,
  })
  expect(Object(value).evidence.at(-1)).toBe(granted.run.part)
})

it('runs under a standing grant without closing anything, where no item was open', async () => {
  const item = { kind: 'standing', grant: 'g-1', run: run(), asked: null } as const
  expect(await approve({ ...small, item }, parts)).toMatchObject({
    grant: 'g-1',
    decisionId: small.actionId,
    supersedes: null,
  })
})

it('refuses what needs a human where none can be asked', async () => {
  const left = await approve(await authorized('150'), { ...parts, approvals: false })
  expect(left).toMatchObject({
    exit: 'refused',
    code: 'decision_needed',
    reason: { policy_ids: ['large-refund'] },
  })
})

it('marks the constraint that asks as the one that stopped the call', async () => {
  const [cap] = small.records
  const asking = { ...small, asking: [cap?.id ?? ''] }
  const left = await approve(asking, { ...parts, approvals: false })
  const records = Object(left).known.records
  expect(records.map(({ blocking }: { blocking: boolean }) => blocking)).toEqual([
    true,
    false,
    false,
  ])
})
