import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { admit } from '../../../src/gate/govern/admit.js'
import type { HaltScope } from '../../../src/gate/operate/halt.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { matched } from './stages.js'

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

it.each<[HaltScope]>([
  [{ kind: 'all' }],
  [{ kind: 'agent', name: 'support-bot' }],
  [{ kind: 'tool', name: 'create_refund' }],
  [{ kind: 'operator', name: 'acme' }],
])('stops a call under a halt of %j, which the reason names', async (scope) => {
  const parts = { ...at.gate.parts, halts: () => [scope] }
  const left = await admit(await matched(refund('5'), parts), parts)
  expect(left).toMatchObject({ exit: 'refused', code: 'halted', reason: { observed: scope } })
})

it('lets it on under halts of others, with its agent', async () => {
  const others: HaltScope[] = [
    { kind: 'agent', name: 'create_refund' },
    { kind: 'tool', name: 'support-bot' },
    { kind: 'operator', name: 'other' },
  ]
  const parts = { ...at.gate.parts, halts: () => others }
  expect(await admit(await matched(refund('5'), parts), parts)).toMatchObject({
    agent: { kind: 'known', agent: 'support-bot' },
  })
})
